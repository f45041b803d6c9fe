import type { Chat } from './chat.ts'

/** A command that a person types: `/model sonnet`. */
export interface ChatCommand {
  /** Without the slash. */
  readonly name: string
  /** One line for lists, without a full stop. */
  readonly summary: string
  /** The argument as the list shows it: `[name]`. Absent if it takes none. */
  readonly argument?: string
  /** Values for the argument, given what is typed of it. */
  complete?(typed: string, context: CommandContext): Promise<readonly Completion[]> | readonly Completion[]
  /** A rejected promise or a thrown error is shown to the person. */
  run(argument: string, context: CommandContext): unknown
}

export interface CommandContext {
  readonly chat: Chat
  readonly screen: CommandScreen
  /** All commands that can be typed here, in the order of the help. */
  readonly commands: readonly ChatCommand[]
}

/** What a command may ask of the screen that it was typed into. */
export interface CommandScreen {
  /**
   * Shows text that is not part of the conversation. Raw text is not wrapped, so that a selection copies it as it is.
   * The screen makes control characters visible.
   */
  print(text: string, options?: { readonly isRaw?: true }): void
  /** Lets the person choose from a list; resolves with the index, `undefined` if they choose nothing. */
  choose(question: ChoiceQuestion): Promise<number | undefined>
  /** Asks for a line of text. A secret one is not shown while it is typed, and goes to no history. */
  ask(prompt: string, initial?: string, options?: { readonly isSecret?: true }): Promise<string | undefined>
  /** Shows a page that the person can scroll and search: plain text, or a diff in colour. */
  view(page: { readonly title: string; readonly text: string; readonly syntax?: 'diff' }): Promise<void>
  /** Opens one of the larger views. `at` is an entry of the log; for `agent` the number of the sub-agent, from 1. */
  open(view: 'transcript' | 'sessions' | 'inspector' | 'waiting' | 'keys' | 'agent', at?: number): Promise<void>
  /** Puts a text into the input line. The text that was there goes to the history. */
  setDraft(text: string): void
  /** Lets the person change a text in their editor; `undefined` if they left it unchanged. */
  edit(text: string): Promise<string | undefined>
  /** Copies a text; resolves with the way it went: `pbcopy`, `tmux`, `OSC 52`. */
  copy(text: string): Promise<string>
  /** The names of the screen's themes, the present one first. Absent if it has none. */
  readonly themes?: readonly string[]
  setTheme?(name: string): void | Promise<void>
  /** Ends the program. */
  quit(): void
}

export interface ChoiceQuestion {
  readonly title: string
  readonly items: readonly { readonly label: string; readonly detail?: string }[]
  /** The item that is selected at first. */
  readonly initial?: number
}

/** What replaces a part of the input line when the person accepts it. */
export interface Completion {
  /** The text that is inserted. */
  readonly text: string
  readonly label?: string
  readonly detail?: string
}
