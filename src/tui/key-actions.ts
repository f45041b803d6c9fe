import type { SecurityMode } from '../authority/rules/settings.ts'
import type { Chat } from '../chat/chat.ts'
import type { Composer } from './dock/composer.ts'
import { piecesOf } from './input/attachments.ts'
import type { Key } from './input/key.ts'
import { pluralize } from './rows/format.ts'

export interface KeyActions {
  readonly chat: Chat
  readonly composer: Composer
  readonly now: () => number
  /** Sends what is typed: a message, a command, a shell line. */
  send(delivery: 'steer' | 'queue'): void
  /** Runs a command, as if it was typed. */
  command(line: string): void
  /** Shows the whole conversation: its end, or its last call. */
  open(view: 'call' | 'transcript'): void
  /** Keeps a text that was cleared. */
  keep(text: string): void
  /** Lets the person edit the input in their editor. */
  editExternally(): void
  suspend(): void
  redraw(): void
  quit(): void
  /** Shows a hint until the next key. */
  hint(text: string): void
}

/** What each key does while the input line has the keyboard. */
export function createKeyActions(actions: KeyActions) {
  const { chat, composer, now } = actions
  /** The last key that must come twice, and when it came. */
  let first: { readonly name: string; readonly at: number } | undefined

  /** Whether the key comes the second time within a moment. */
  function isAgain(name: string): boolean {
    const was = first
    first = { name, at: now() }
    const isSecond = was?.name === name && now() - was.at < againMs
    if (isSecond) first = undefined
    return isSecond
  }

  function pressEscape(): void {
    if (composer.isOpen) composer.close()
    else if (chat.state.phase === 'running') chat.stop()
    else if (chat.state.phase === 'idle' && composer.isEmpty) {
      if (isAgain('escape')) actions.command('/rewind')
      else actions.hint('esc again goes back to an earlier message')
    }
  }

  function interrupt(): void {
    if (isAgain('ctrl+c')) {
      actions.quit()
      return
    }
    if (!composer.isEmpty) {
      actions.keep(composer.editor.fullText)
      composer.set('')
      actions.hint('cleared; up brings it back · ctrl+c again leaves')
      return
    }
    chat.stop()
    const { jobs } = chat.state.view
    actions.hint(
      `ctrl+c again leaves${jobs.length > 0 ? `, which ends ${pluralize(jobs.length, 'background job')}` : ''}`,
    )
  }

  function openCommands(): void {
    if (!composer.isEmpty) actions.keep(composer.editor.fullText)
    composer.set('/')
  }

  function nextMode(): void {
    const { mode } = chat.state.settings
    if (mode === undefined) return
    // Never to yolo: that is a choice of its own, by name.
    const next = modes[(modes.indexOf(mode) + 1) % modes.length]!
    chat.set({ mode: next }).catch(() => {})
  }

  const control: Readonly<Record<string, () => void>> = {
    c: interrupt,
    o: () => actions.open('call'),
    t: () => actions.open('transcript'),
    r: () => composer.search(),
    g: actions.editExternally,
    p: openCommands,
    l: actions.redraw,
    z: actions.suspend,
  }

  /** Handles a key; the editor gets what means nothing else. */
  return (key: Key): void => {
    if (key.type === 'focus' || key.type === 'report') return
    const isFirst = first
    if (key.type === 'ctrl' && key.key === 'd' && composer.isEmpty) actions.quit()
    else if (key.type === 'ctrl' && key.key === 'w' && composer.isEmpty) actions.command('/waiting')
    else if (key.type === 'ctrl' && control[key.key] && !(composer.isOpen && (key.key === 'p' || key.key === 'r')))
      control[key.key]!()
    else if (key.type === 'escape') pressEscape()
    else if (key.type === 'enter' && key.alt) actions.send('queue')
    else if (key.type === 'enter' && !key.shift && !key.ctrl) {
      if (!composer.isSearching && editsLine(composer)) composer.press(key)
      else if (composer.isSearching) composer.press(key)
      else if (!composer.acceptBeforeSending()) actions.send('steer')
    } else if (key.type === 'up' && key.alt) takeBack()
    else if (key.type === 'tab' && key.shift) nextMode()
    else if (key.type === 'text' && key.text === '?' && composer.isEmpty) actions.command('/keys')
    else composer.press(key)
    if (first === isFirst) first = undefined
  }

  function takeBack(): void {
    const message = chat.takeBack()
    if (!message) return
    if (!composer.isEmpty) actions.keep(composer.editor.fullText)
    composer.set(piecesOf(message))
  }
}

/** A backslash before the caret makes Enter a new line. */
const editsLine = ({ editor }: Composer): boolean => /(?:^|[^\\])(?:\\\\)*\\$/.test(editor.around.before)

const modes: readonly SecurityMode[] = ['ask', 'allowlist', 'plan']
const againMs = 2000
