# For who prefers node-gyp: `cd native && npx node-gyp rebuild`. Not in the package's root, where npm would compile at install.
{
  'targets': [{ 'target_name': 'railhead', 'sources': ['railhead.c'], 'cflags': ['-std=c11', '-fvisibility=hidden'] }]
}
