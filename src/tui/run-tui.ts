import { homedir } from 'node:os'
import { join } from 'node:path'
import type { AgentRequest, ChatAgent, ChatHost, ChatState, OpenRequest, OutgoingMessage } from '../chat/chat.ts'
import type { ChatCommand, CommandContext } from '../chat/command.ts'
import { createChat } from '../chat/create-chat.ts'
import type { WorkspaceFiles } from '../chat/workspace-files.ts'
import type { Agent } from '../core/agent.ts'
import { messageOf } from '../core/errors.ts'
import type { PromptPart } from '../core/turn.ts'
import { visibleText } from '../platform/visible-text.ts'
import { type App, type AppOptions, runApp } from './app.ts'
import type { StatusPart } from './dock/status-line.ts'
import { openDraft } from './input/draft.ts'
import { openHistory } from './input/history.ts'
import { checkKeyBindings } from './input/key-bindings.ts'
import { openKeyboard } from './input/keyboard.ts'
import { type ProcessEvents, processEvents } from './process-events.ts'
import { pluralize } from './rows/format.ts'
import type { TerminalStreams } from './terminal/output.ts'
import { suspend } from './terminal/suspend.ts'
import { modesOff } from './terminal/terminal-modes.ts'
import type { Theme, ThemeName } from './terminal/theme.ts'

export interface TuiOptions {
  /**
   * Makes the agent of a session, with what belongs to it; called again when the person opens another session, model or
   * profile. Its authority should ask `request.interactor`.
   */
  readonly agentFor: (request: AgentRequest) => ChatAgent | Agent | Promise<ChatAgent | Agent>
  /** What else the program offers: a store, models, profiles. */
  readonly host?: Omit<ChatHost, 'openAgent'>
  /** The session to begin with. Default: a new one. */
  readonly open?: OpenRequest
  /** Added to the usual commands; one with the same name replaces it. A function is called when a command is first typed. */
  readonly commands?: readonly ChatCommand[] | (() => Promise<readonly ChatCommand[]>)
  /** A folder for what the person typed. Default: it is not kept. */
  readonly folder?: string
  /** Where tools run. Default: the current folder. */
  readonly cwd?: string
  /** Whole lines, written once, for screen readers and logs. */
  readonly plain?: boolean
  /** Lines to begin with. */
  readonly welcome?: readonly string[]
  /** The colours: one of Libero's themes, or an own one. Default: those of the terminal. */
  readonly theme?: Theme | ThemeName
  /** Print what the model thinks whole. Default: one line with how long it thought. */
  readonly showThinking?: boolean
  /** Keys of the input line, such as `{ 'alt+e': 'editor', 'alt+w': '/waiting', 'ctrl+z': 'none' }`. */
  readonly keys?: Readonly<Record<string, string>>
  /** The parts of the status line, in their order. The mode is always there. */
  readonly statusLine?: readonly StatusPart[]
  /** Notify when a question waits or a run ends while the terminal has no focus. Default true. */
  readonly notify?: boolean
  /** The last line, for the session that was open. */
  readonly farewell?: (state: ChatState) => string | undefined
  /** Sent with the first message: images. */
  readonly firstParts?: readonly PromptPart[]
  /** Default: those of the process. */
  readonly streams?: TerminalStreams
  /** Signals and uncaught errors. Default: those of the process. */
  readonly events?: ProcessEvents
}

/**
 * Runs the interactive terminal until the person leaves. Resolves with the exit code: 0, 1 after an uncaught error, 128
 * plus its number after a signal. The terminal is restored in every case.
 */
export async function runTui(options: TuiOptions): Promise<number> {
  const { agentFor, host, open = {}, commands = [], streams = process, cwd = process.cwd() } = options
  const { events = processEvents } = options
  if (options.keys) checkKeyBindings(options.keys)
  const output = streams.stdout
  const keyboard = options.plain ? undefined : openKeyboard({ ...streams, stderr: output }, { modes: 'all' })
  if (!options.plain && (!keyboard || !output.isTTY || streams.env.TERM === 'dumb'))
    throw new Error(
      'runTui needs a terminal on stdin and stdout that can move its cursor; use { plain: true }, or agent.run()',
    )
  const chat = createChat({ ...host, openAgent: async (request) => withSettings(await agentFor(request)) })
  const ending = new AbortController()
  let exitCode = 0
  let crash: unknown
  const end = (code: number): void => {
    exitCode ||= code
    ending.abort()
  }
  const stopListening = [
    events.onSignal((signal) => end(signalCodes[signal] ?? 1)),
    events.onCrash((error) => {
      crash ??= error
      end(1)
    }),
    events.onExit(() => void (keyboard && output.write(modesOff))),
  ]
  try {
    chat.open(open).catch((error: unknown) => {
      crash ??= error
      end(1)
    })
    const { folder } = options
    const kept = folder !== undefined && {
      history: openHistory({ file: join(folder, 'history.jsonl'), folder: cwd }),
      draft: openDraft({ directory: join(folder, 'unsent'), folder: cwd }),
    }
    const common = {
      chat,
      output,
      cwd,
      env: streams.env,
      signal: ending.signal,
      ...createLines(commands, options.firstParts),
    }
    if (!keyboard) await (await import('./plain.ts')).runPlain({ ...common, input: streams.stdin })
    else
      await runApp({
        ...{ ...common, keyboard, suspend, userHome: homedir(), history: memoryHistory() },
        welcome: options.welcome ?? [],
        ...(options.theme !== undefined && { theme: options.theme }),
        showThinking: options.showThinking ?? false,
        notify: options.notify ?? true,
        ...(options.keys && { keys: options.keys }),
        ...(options.statusLine && { statusLine: options.statusLine }),
        editText: async (text) => (await import('./input/external-editor.ts')).editExternally(text, streams),
        ...kept,
      })
  } finally {
    for (const stop of stopListening) stop()
    await chat.close()
  }
  const { jobs } = chat.state.view
  if (jobs.length > 0) output.write(`${pluralize(jobs.length, 'background job')} ended with this program\n`)
  const farewell = options.farewell?.(chat.state)
  if (farewell !== undefined) output.write(`${farewell}\n`)
  if (crash !== undefined) streams.stderr.write(`${visibleText(messageOf(crash))}\n`)
  return exitCode
}

/** An agent alone, with the settings that it tells itself. */
function withSettings(given: ChatAgent | Agent): ChatAgent {
  if ('settings' in given) return given
  const { name: provider, defaultModel: model } = given.meta
  return { agent: given, settings: { model: { provider, model } }, close: () => given.destroy() }
}

const signalCodes: Partial<Record<NodeJS.Signals, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

function memoryHistory() {
  const lines: string[] = []
  return {
    add: (text: string): void => void (text.trim() !== '' && lines.at(-1) !== text && lines.push(text)),
    recent: () => lines.toReversed(),
    search: (query: string) => lines.filter((line) => line.includes(query)).toReversed(),
  }
}

/** What lines mean that the person types: commands, shell lines, messages, and their completion. Loaded with the first key. */
export function createLines(
  given: readonly ChatCommand[] | (() => Promise<readonly ChatCommand[]>),
  firstParts: readonly PromptPart[] = [],
): Pick<AppOptions, 'submit' | 'complete' | 'openView'> {
  let context: Promise<CommandContext> | undefined
  let files: WorkspaceFiles | undefined
  let unsent = firstParts

  /** The message with what is to be sent with the first one. */
  function withParts(message: OutgoingMessage): OutgoingMessage {
    if (unsent.length === 0 || /^[/!]/.test(message.text)) return message
    const { text, parts = [{ type: 'text', text }] } = message
    const whole = { text, parts: [...parts, ...unsent] }
    unsent = []
    return whole
  }

  async function contextOf(app: App): Promise<CommandContext> {
    const [{ createCommandScreen }, { chatCommands }, own] = await Promise.all([
      import('./command-screen.ts'),
      import('../chat/commands/chat-commands.ts'),
      typeof given === 'function' ? given() : given,
    ])
    const names = new Set(own.map(({ name }) => name))
    const commands = [...chatCommands.filter(({ name }) => !names.has(name)), ...own]
    return { chat: app.chat, screen: createCommandScreen(app), commands }
  }

  return {
    async submit(message, app, delivery) {
      context ??= contextOf(app)
      const { submitLine } = await import('../chat/submit-line.ts')
      await submitLine(withParts(message), await context, delivery)
    },
    async complete(before, app) {
      context ??= contextOf(app)
      const { completionsFor } = await import('../chat/complete.ts')
      const { execution } = app.chat.agent?.agent ?? {}
      if (before.includes('@') && execution) {
        const { workspaceFiles } = await import('../chat/workspace-files.ts')
        files ??= workspaceFiles({ execution })
        if (!files.index) await files.refresh()
      }
      const index = files?.index
      const found = await completionsFor(before, before.length, {
        context: await context,
        ...(index && { files: index }),
      })
      return found && { items: found.items, length: before.length - found.from }
    },
    async openView(view, app) {
      const { createViews } = await import('./views.ts')
      await createViews(app).open(view)
    },
  }
}
