import type { Chat, ChatNotice, OutgoingMessage } from '../chat/chat.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import { createAnnouncer } from './announcer.ts'
import { type Completions, createComposer, type RecalledMessages } from './dock/composer.ts'
import { createDock, type LiveLines } from './dock/dock.ts'
import type { StatusPart } from './dock/status-line.ts'
import { createForeground } from './foreground.ts'
import type { Draft } from './input/draft.ts'
import { imageOfKey } from './input/images.ts'
import type { Key } from './input/key.ts'
import { createKeyMap, type KeyBindings } from './input/key-bindings.ts'
import { createKeyRouter } from './input/key-router.ts'
import type { Keyboard } from './input/keyboard.ts'
import { createKeyActions } from './key-actions.ts'
import { createPrompts } from './prompts.ts'
import { pluralize } from './rows/format.ts'
import { copyText } from './terminal/copy-text.ts'
import { createFrames } from './terminal/frames.ts'
import { linesTerminal } from './terminal/lines-terminal.ts'
import { askWidth, setAmbiguousWide, wideColumn } from './terminal/marks.ts'
import type { Output, TerminalStreams } from './terminal/output.ts'
import { createPace } from './terminal/pace.ts'
import { createPaint, hasColours, type Paint } from './terminal/paint.ts'
import { createSurface, reflowOf, type Surface } from './terminal/surface.ts'
import type { Terminal } from './terminal/terminal.ts'
import { modesOff } from './terminal/terminal-modes.ts'
import { cutToWidth } from './terminal/text-width.ts'
import type { Theme, ThemeName } from './terminal/theme.ts'
import { createThemeChoice, type ThemeChoice } from './terminal/theme-choice.ts'
import { viewerScreen } from './terminal/viewer-screen.ts'
import { createTranscript } from './transcript.ts'

export interface AppOptions {
  readonly chat: Chat
  readonly output: Output
  readonly keyboard: Keyboard
  readonly env: TerminalStreams['env']
  /** Where tools run. */
  readonly cwd: string
  /** The home folder of the person, to be shown as `~`. */
  readonly userHome?: string
  readonly history: RecalledMessages & { add(text: string, kind?: 'sent' | 'draft'): void }
  /** Does what a line means that the person entered. */
  readonly submit: (message: OutgoingMessage, app: App, delivery: 'steer' | 'queue') => Promise<void>
  readonly complete?: (before: string, app: App) => Promise<Completions | undefined>
  readonly openView: (view: 'call' | 'transcript', app: App) => Promise<void>
  /** Runs the editor of the person. */
  readonly editText?: (text: string) => Promise<string | undefined>
  /** Keeps the unsent text. */
  readonly draft?: Draft
  /** Lines to begin with. */
  readonly welcome?: readonly string[]
  /** The colours to begin with. Default: those of the terminal. */
  readonly theme?: Theme | ThemeName
  readonly showThinking?: boolean
  /** Keys of the input line; see `keyActions`. */
  readonly keys?: KeyBindings
  /** The parts of the status line, in their order. The mode is always there. */
  readonly statusLine?: readonly StatusPart[]
  /** Whether to notify while the terminal has no focus. Default true. */
  readonly notify?: boolean
  /** Ends the app. */
  readonly signal?: AbortSignal
  /** Stops this process as Ctrl-Z does; resolves when it goes on. */
  readonly suspend?: () => Promise<void>
  readonly clock?: Clock
  /** Sees everything that is drawn: tests compare it with the screen. */
  readonly watch?: (surface: Surface) => Surface
}

/** What commands and viewers use of the running app. */
export interface App {
  readonly chat: Chat
  readonly cwd: string
  readonly paint: Paint
  /** Plain mode has none to choose from. */
  readonly themes?: ThemeChoice
  /** The keys that the person chose; plain mode has none. */
  readonly keys?: KeyBindings
  /** Shows viewers on the whole screen; plain mode has none. */
  readonly view?: Foreground['view']
  /** Asks in place of the input, when what is open has closed. */
  readonly dialog: Foreground['dialog']
  /** Writes lines above the input. */
  readonly terminal: Terminal
  print(text: string, kind?: ChatNotice['kind']): void
  setDraft(text: string): void
  /** Lets the person change a text in their editor; `undefined` if they left it unchanged. */
  editText(text: string): Promise<string | undefined>
  copy(text: string): Promise<string>
  quit(): void
}

type Foreground = ReturnType<typeof createForeground>

/** Shows a chat at a terminal until the person leaves. */
export async function runApp(options: AppOptions): Promise<void> {
  const { chat, output, env, cwd, userHome, history, clock = systemClock } = options
  const choice = createThemeChoice(options.theme)
  const paint = createPaint({ colours: hasColours(output, env), theme: () => choice.theme })
  const { watch = (surface: Surface) => surface } = options
  const pace = createPace(clock, () => surface.catchUp())
  const surface = watch(createSurface(output, reflowOf(env), pace))
  const keyboard = createKeyRouter(options.keyboard, (column) => {
    if (!pace.answered() || column !== wideColumn) return
    setAmbiguousWide(true)
    surface.invalidate()
    draw()
  })
  const columns = (): number => output.columns || 80
  const now = (): number => clock.now()
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  const transcript = createTranscript({
    ...{ paint, cwd, columns, now, commit: surface.commit },
    showThinking: options.showThinking ?? false,
    marksPrompts: true,
    isAskedHere: () => !chat.state.isAttached,
  })
  const composer = createComposer({
    paint,
    history,
    onChange: () => frames.changed(),
    complete: async (before) => options.complete?.(before, app),
  })
  let dialog: LiveLines | undefined
  let hint: string | undefined
  const screen = viewerScreen(output, paint)
  const announcer = createAnnouncer(output, { env, notify: options.notify })

  const dock = createDock({
    ...{ chat, transcript, composer, paint, cwd, userHome, clock },
    isStill: isSet(env.LIBERO_REDUCED_MOTION),
    parts: options.statusLine,
    hint: () => hint,
    onChange: () => frames.changed(),
  })
  const draw = (): void => {
    output._refreshSize?.()
    transcript.update(chat.state.view)
    if (foreground.isAway) return
    const { lines, caret } = dock.draw({ columns: columns(), most: surface.most, dialog })
    surface.frame(lines, caret)
  }
  const isAnimated = (): boolean => !foreground.isAway && !dialog && ['running', 'stopping'].includes(chat.state.phase)
  const frames = createFrames({ draw, isAnimated, clock })

  const terminal = linesTerminal({
    ...{ paint, columns, rows: () => output.rows || 24 },
    commit(lines) {
      transcript.update(chat.state.view) // what came before the dialog stands above it
      transcript.lines(lines)
    },
    live(lines, caret) {
      dialog = lines.length > 0 ? { lines, ...(caret && { caret }) } : undefined
      draw()
    },
  })
  const foreground = createForeground({
    ...{ surface, terminal, keyboard, clock, pace, draw },
    viewer: {
      terminal: screen,
      note: () => (chat.state.prompts.length > 0 ? 'A question waits for you: q closes this' : undefined),
      onChange: chat.subscribe,
    },
  })
  const { inTurn, outside } = foreground
  const editor = options.editText && ((text: string) => outside(() => options.editText!(text)))
  const app: App = {
    ...{
      chat,
      cwd,
      paint,
      themes: choice,
      keys: options.keys ?? {},
      terminal,
      view: foreground.view,
      dialog: foreground.dialog,
    },
    copy: (text) => copyText(text, { output, env }),
    async editText(text) {
      if (!editor) throw new Error('There is no editor here')
      return inTurn(() => editor(text))
    },
    print(text, kind) {
      transcript.update(chat.state.view)
      transcript.print(text, kind)
      frames.changed()
    },
    setDraft(text) {
      if (!composer.isEmpty) history.add(composer.editor.fullText, 'draft')
      composer.set(text)
      frames.changed()
    },
    quit: leave,
  }

  function send(delivery: 'steer' | 'queue'): void {
    const line = composer.editor.fullText
    if (line.trim() === '') {
      if (chat.state.isResumable) chat.resume().catch(fail)
      return
    }
    if (isExitWord.test(line)) {
      leave()
      return
    }
    history.add(line)
    const pieces = composer.editor.pieces()
    options
      .submit(composer.take(), app, delivery)
      .catch((error: unknown) => {
        fail(error)
        if (composer.isEmpty) composer.set(pieces)
      })
      .finally(() => frames.changed())
  }
  const fail = (error: unknown): void => app.print(messageOf(error), 'failure')

  /** A key that opens something counts once: the code of viewers is loaded, and they read, before they take the keyboard. */
  const opening = new Set<string>()
  /** A command that the person bound to a key may take long, and does not hold the viewers. */
  function openOnce(what: 'bound command' | 'viewer', open: () => Promise<void>): void {
    if (opening.has(what)) return
    opening.add(what)
    open()
      .catch(fail)
      .finally(() => opening.delete(what))
  }
  const press = createKeyActions({
    ...{ chat, composer, now, send },
    command: (line) => openOnce('viewer', () => options.submit({ text: line }, app, 'steer')),
    open: (view) => openOnce('viewer', () => options.openView(view, app)),
    keep: (text) => history.add(text, 'draft'),
    editExternally() {
      app
        .editText(composer.editor.fullText)
        .then((text) => text !== undefined && composer.set(text))
        .catch(fail)
        .finally(draw)
    },
    suspend: () => void (options.suspend && outside(options.suspend)),
    redraw() {
      surface.invalidate()
    },
    quit: leave,
    hint: (text) => {
      hint = text
    },
  })
  function attach(key: Key): boolean {
    const image = imageOfKey(key, cwd)
    if (!image) return false
    image
      .then((found) => void composer.editor.attach(found))
      .catch((error: unknown) => {
        if (key.type === 'text') composer.press(key)
        else fail(error)
      })
      .finally(draw)
    return true
  }
  const meaningOf = createKeyMap(options.keys ?? {})
  const onKey = (pressed: Key): void => {
    const key = meaningOf(pressed)
    if (!key) return
    if ('command' in key) {
      openOnce('bound command', () => options.submit({ text: key.command }, app, 'steer'))
      return
    }
    if (key.type === 'focus') {
      announcer.isFocused = key.isFocused
      if (key.isFocused) chat.lookElsewhere()
      return
    }
    hint = undefined
    if (!attach(key)) press(key)
    dock.typed()
    draw() // what the person types is shown before anything else
    options.draft?.save(composer.editor.pieces())
  }

  const isSuspend = (key: Key): boolean => key.type === 'ctrl' && key.key === 'z' && options.suspend !== undefined
  const prompts = createPrompts(chat, {
    ...{ terminal, clock, inTurn },
    // A dialog can be suspended as the input can.
    keyboard: {
      close: keyboard.close,
      read: (listener) => keyboard.read((key) => (isSuspend(key) ? void outside(options.suspend!) : listener(key))),
    },
    screen: { pause() {}, resume: () => frames.changed() },
    onInterrupt: () => chat.stop(),
    isTyping: () => !composer.isEmpty,
    onAsk: () => announcer.tell('Libero asks you something'),
    ...(editor && { editText: editor }),
  })

  let seen = { notices: -1, phase: '', sessionId: chat.state.sessionId, jobs: 0 }
  function onState(): void {
    const { notices, phase, view, sessionId, earlierTurns } = chat.state
    if (sessionId !== seen.sessionId && phase === 'idle')
      transcript.open(view, { most: 2 * (output.rows || 24), ...(earlierTurns && { earlier: earlierTurns }) })
    if (seen.phase === 'opening' && seen.jobs > view.jobs.length)
      transcript.print(`${pluralize(seen.jobs, 'background job')} of the agent before ended`)
    if ((notices.at(-1)?.id ?? -1) > seen.notices) transcript.update(view)
    for (const { id, kind, text } of notices) if (id > seen.notices) transcript.print(text, kind)
    if (phase === 'idle' && seen.phase !== phase) void dock.readBranch() // commands may have changed it
    seen = { notices: notices.at(-1)?.id ?? seen.notices, phase, sessionId, jobs: view.jobs.length }
    announcer.update(chat.state)
    prompts.update()
    frames.changed()
  }

  if (options.welcome) transcript.lines(options.welcome.map((line) => cutToWidth(line, columns() - 1)))
  output.on('resize', draw)
  const stopReading = keyboard.read(onKey)
  output.write(askWidth)
  options.signal?.addEventListener('abort', () => leave(), { once: true })
  if (options.signal?.aborted) leave()
  const unsubscribe = chat.subscribe(onState)
  try {
    if (options.draft?.restored) composer.editor.set(options.draft.restored)
    onState()
    draw()
    await left
  } finally {
    options.draft?.close()
    unsubscribe()
    frames.stop()
    dock.stop()
    stopReading()
    output.off('resize', draw)
    await foreground.end()
    transcript.settle()
    screen.close()
    surface.clear()
    announcer.close()
    await pace.settled()
    output.write(modesOff)
    keyboard.close()
  }
}

/** `exit`, `/quit`, `:q`: what people type to leave other programs. */
const isExitWord = /^\s*[/:]?(?:exit|quit|q)\s*$/

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '' && value !== '0'
