/**
 * Lists the regular files under a folder. Main thread. Symbolic links are not followed, so there are no cycles, and a
 * file with several hard links is taken once.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {string} folder
 * @returns {{ files: { path: string, bytes: number }[], unreadable: { path: string, reason: string }[] }} files in path order
 */
export function listFiles(folder) {
  const files = [];
  const unreadable = [];
  const linked = new Set(); // device:inode of each file with more than one name
  const folders = [folder];
  for (let current = folders.pop(); current !== undefined; current = folders.pop()) {
    attempt(current, () => {
      for (const entry of readdirSync(current, { withFileTypes: true })) {
        const path = join(current, entry.name);
        if (entry.isDirectory()) folders.push(path);
        else if (entry.isFile()) attempt(path, () => visit(path));
      }
    });
  }
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), unreadable };

  function attempt(path, act) {
    try {
      act();
    } catch (error) {
      unreadable.push({ path, reason: error.message });
    }
  }

  function visit(path) {
    const stat = lstatSync(path, { bigint: true });
    const name = `${stat.dev}:${stat.ino}`;
    if (stat.nlink > 1n && linked.has(name)) return;
    if (stat.nlink > 1n) linked.add(name);
    files.push({ path, bytes: Number(stat.size) });
  }
}

/** At most `most` items, evenly spaced: the same ones every time. */
export function spread(items, most) {
  const every = Math.max(1, Math.ceil(items.length / most));
  return { every, items: items.filter((_, i) => i % every === 0) };
}

export const bytesOf = (files) => files.reduce((sum, file) => sum + file.bytes, 0);
