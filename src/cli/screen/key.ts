/** A key, or a run of characters typed or pasted. */
export type Key =
  /** A paste keeps its newlines, as `\n`. */
  | { readonly type: 'text'; readonly text: string; readonly isPaste?: true }
  | {
      readonly type:
        | 'enter'
        | 'escape'
        | 'backspace'
        | 'delete'
        | 'up'
        | 'down'
        | 'left'
        | 'right'
        | 'tab'
        | 'home'
        | 'end'
    }
  /** Ctrl and a letter: `c`, `d`, `u`. */
  | { readonly type: 'ctrl'; readonly key: string }
