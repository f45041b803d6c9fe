import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Clock } from '../core/clock.ts'
import { systemClock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { App, AppOptions } from './app.ts'
import type { Key } from './input/key.ts'
import type { KeyRouter } from './input/key-router.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { createPrompts } from './prompts.ts'
import { linesTerminal } from './terminal/lines-terminal.ts'
import { createPaint, hasColours } from './terminal/paint.ts'
import { createTranscript } from './transcript.ts'

type PlainOptions = Pick<AppOptions, 'chat' | 'output' | 'env' | 'cwd' | 'submit' | 'signal'> & {
  readonly input: Readable
  readonly clock?: Clock
}

/**
 * A chat in lines, for screen readers and logs: each line is written once, nothing is redrawn, and the person answers
 * with whole lines. A line that is entered while the agent works steers it.
 */
export async function runPlain(options: PlainOptions): Promise<void> {
  const { chat, output, env, cwd, input, clock = systemClock } = options
  const paint = createPaint({ colours: hasColours(output, env) })
  const columns = (): number => output.columns || 80
  const write = (lines: readonly string[]): void => void output.write(lines.map((line) => `${line}\n`).join(''))
  const transcript = createTranscript({ paint, cwd, columns, now: clock.now, commit: write })
  const lines = linesTerminal({ paint, columns, rows: () => output.rows || 24, commit: (all) => transcript.lines(all) })
  const terminal = { ...lines, isInteractive: false, columns: columns(), rows: output.rows || 24 }
  const keyboard = lineKeyboard()
  const inTurn = oneAtATime()
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  const fail = (error: unknown): void => transcript.print(messageOf(error), 'failure')
  const app: App = {
    ...{ chat, cwd, paint, terminal },
    dialog: (use) => inTurn(() => use({ terminal, keyboard, clock })),
    print: (text, kind) => transcript.print(text, kind),
    setDraft: (text) => transcript.print(`the text is: ${text}`),
    editText: () => Promise.reject(new Error('There is no editor in plain mode; type the text')),
    copy: () => Promise.reject(new Error('Plain mode copies nothing; use /export')),
    quit: leave,
  }
  const prompts = createPrompts(chat, {
    ...{ terminal, keyboard, clock, inTurn },
    screen: { pause() {}, resume() {} },
    onInterrupt: () => chat.stop(),
    onAsk() {},
  })

  let [notices, phase] = [-1, chat.state.phase]
  const onState = (): void => {
    const { state } = chat
    transcript.update(state.view)
    for (const { id, kind, text } of state.notices) if (id > notices) transcript.print(text, kind)
    notices = state.notices.at(-1)?.id ?? notices
    if (state.phase !== phase && state.phase === 'idle') write([paint.dim('libero waits for you:')])
    phase = state.phase
    prompts.update()
    leaveIfDone()
  }
  let pending = 0
  function submit(line: string): void {
    pending++
    options
      .submit({ text: line }, app, 'steer')
      .catch(fail)
      .finally(() => {
        pending--
        leaveIfDone()
      })
  }
  const reader = createInterface({ input, terminal: false })
  reader.on('line', (line) => {
    if (keyboard.isCovered) keyboard.enter(line)
    else if (line.trim() !== '') submit(line)
    else if (chat.state.isResumable) chat.resume().catch(fail)
  })
  // At the end of the input, what was sent is still worked on; a question cannot be answered any more.
  let isOver = false
  const leaveIfDone = (): void => {
    const { phase: now, prompts: open } = chat.state
    if (isOver && pending === 0 && (now === 'idle' || now === 'closed' || open.length > 0)) leave()
  }
  reader.on('close', () => {
    isOver = true
    leaveIfDone()
  })
  options.signal?.addEventListener('abort', () => leave(), { once: true })
  const unsubscribe = chat.subscribe(onState)
  onState()
  await left
  unsubscribe()
  reader.close()
}

/** Gives whole lines to dialogs, as the keys that would write them. */
function lineKeyboard(): KeyRouter & { enter(line: string): void } {
  const readers: ((key: Key) => void)[] = []
  return {
    read(listener) {
      readers.push(listener)
      return () => void readers.splice(readers.lastIndexOf(listener), 1)
    },
    pass: (key) => readers.at(-1)?.(key),
    get isCovered() {
      return readers.length > 0
    },
    enter(line) {
      const reader = readers.at(-1)
      if (line !== '') reader?.({ type: 'text', text: line })
      // A dialog that the text has closed gets no Enter, nor does the one after it.
      if (readers.at(-1) === reader) reader?.({ type: 'enter' })
    },
    release: () => () => {},
    close() {},
  }
}
