/** How much of a file or of a command's output zot shows at most. */
export const mostLines = 2000
export const mostBytes = 50 * 1024
