/** How many model calls a run may make where nobody says otherwise; the library itself has no limit. */
export const defaultTurns = 100
