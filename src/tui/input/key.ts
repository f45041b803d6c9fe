/** A key, or text that was typed or pasted. */
export type Key =
  /** A paste keeps its newlines, as `\n`. */
  | { readonly type: 'text'; readonly text: string; readonly isPaste?: true }
  | NamedKey
  /** Ctrl and a character: `c`, `_`. Ctrl+J is the newline key; Ctrl+I, Ctrl+M and Ctrl+[ are Tab, Enter and Esc. */
  | { readonly type: 'ctrl'; readonly key: string }
  /** Alt and a character: `b`, or `B` with Shift. */
  | { readonly type: 'alt'; readonly key: string }
  /** The terminal gained or lost the focus. */
  | { readonly type: 'focus'; readonly isFocused: boolean }
  /** Where the cursor is, from 1: the answer to a question of ours. */
  | { readonly type: 'report'; readonly column: number }

/** A key with a name, and the modifiers that were held. */
export interface NamedKey extends Modifiers {
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
    | 'pageup'
    | 'pagedown'
}

export interface Modifiers {
  readonly shift?: true
  readonly alt?: true
  readonly ctrl?: true
}
