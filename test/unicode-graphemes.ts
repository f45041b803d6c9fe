// The add-on reads the head of its table at the start of the ArrayBuffer. A Buffer of Node's pool lies anywhere in it, so
// the head would be foreign bytes: wrong widths, or "Data error".
const { poolSize } = Buffer
Buffer.poolSize = 0
const { default: addon } = await import('@xterm/addon-unicode-graphemes')
Buffer.poolSize = poolSize

/** Measures characters in xterm as terminals do. */
export const { UnicodeGraphemesAddon } = addon
