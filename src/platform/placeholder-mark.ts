/**
 * The start of the names in a placeholder: a folder that a sandbox places for a while where nothing may be created. Snapshots
 * of files leave such folders out.
 */
export const placeholderMark = 'held-by-libero-'
