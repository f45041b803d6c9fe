/** Where a person hears of what servers do to a run. */
export interface ServersView {
  /** What is waited for, for longer than a moment; nothing when it is over. */
  waiting(text: string | undefined): void
  /** Something is missing in this run. Said even to those who want to hear the answer only. */
  failed(text: string): void
  said(text: string): void
}

/** Everything in lines, where there is no screen. */
export function linesView(say: (line: string) => void): ServersView {
  return { waiting: (text) => text !== undefined && say(text), failed: say, said: say }
}
