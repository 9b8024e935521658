/** Places in the code that stand before an operation: a number in the rewritten code, file and line in a trace. */
const sites = ['somewhere'];

/** @param {string} place @returns {number} */
export const siteFor = (place) => sites.push(place) - 1;

/** @param {number | undefined} site */
export const siteAt = (site) => sites[site ?? 0] ?? sites[0];
