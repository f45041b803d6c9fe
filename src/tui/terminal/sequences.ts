/** The sequences that are written to terminals. Between `begin` and `end` a terminal that can shows nothing halfway. */
export const begin = '\x1b[?2026h'
export const end = '\x1b[?2026l'
export const hideCursor = '\x1b[?25l'
export const showCursor = '\x1b[?25h'
export const toLeft = '\x1b[G'
export const clearRight = '\x1b[K'
export const clearDown = '\x1b[J'
/**
 * Clears the row of the cursor and those below, and leaves the cursor where it is, also where it is in the last row. The
 * first row is cleared separately: tmux moves text into its history if it is cleared from the first row of the screen on.
 */
export const clearRows = `${clearRight}\x1b7\x1b[1B${clearDown}\x1b8`
/** A line that the terminal measures wider than we do is cut, and takes no second row. */
export const noWrap = '\x1b[?7l'
export const wrap = '\x1b[?7h'
export const alternateOn = '\x1b[?1049h'
export const alternateOff = '\x1b[?1049l'
