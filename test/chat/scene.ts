import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type AuthorityOptions, createAuthority } from '../../src/authority/authority.ts'
import type { Prompt } from '../../src/authority/interaction/interactor-queue.ts'
import type { AgentRequest, Chat, ChatAgent, ModelChoice, OpenRequest, OutgoingMessage } from '../../src/chat/chat.ts'
import type { ChatCommand, ChoiceQuestion, CommandContext, CommandScreen } from '../../src/chat/command.ts'
import { chatCommands } from '../../src/chat/commands/chat-commands.ts'
import { createChat } from '../../src/chat/create-chat.ts'
import { runCommand } from '../../src/chat/run-command.ts'
import type { InteractionResponse } from '../../src/core/interaction.ts'
import type { Session, SessionStore } from '../../src/core/store.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { workInRun } from '../../src/extensions/work-in-run.ts'
import { coding } from '../../src/presets/coding.ts'
import type { AgentOptions } from '../../src/presets/preset.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { createSession, loadSession } from '../../src/sessions/session.ts'
import { createSnapshots } from '../../src/snapshots/snapshots.ts'
import { type ScriptedProvider, type Step, scripted } from '../../src/testing/scripted.ts'

export interface SceneOptions {
  readonly steps?: readonly Step[]
  readonly files?: Readonly<Record<string, string>>
  readonly authority?: AuthorityOptions
  /** Answers what the authority asks. Without it the questions stay open. */
  readonly answer?: (prompt: Prompt) => InteractionResponse
  readonly models?: readonly ModelChoice[]
  /** Default: a new one. */
  readonly folder?: string
  readonly snapshots?: boolean
  readonly commands?: readonly ChatCommand[]
  readonly store?: SessionStore
  readonly skills?: AgentOptions['skills']
}

/** A chat on a real agent, a real store and real files, with a scripted model and a screen that records. */
export interface Scene {
  readonly folder: string
  readonly provider: ScriptedProvider
  readonly store: SessionStore
  readonly chat: Chat
  readonly screen: RecordedScreen
  readonly context: CommandContext
  /** Each call of `chat.open`. */
  readonly opened: OpenRequest[]
  readonly sent: OutgoingMessage[]
  say(text: string): Promise<void>
  type(line: string): Promise<'done' | 'message'>
  close(): Promise<void>
}

export interface RecordedScreen extends CommandScreen {
  readonly printed: string[]
  readonly viewed: { readonly title: string; readonly text: string }[]
  readonly views: string[]
  readonly questions: ChoiceQuestion[]
  readonly drafts: string[]
  readonly copied: string[]
  /** The labels, or beginnings of labels, to choose next; undefined chooses nothing. */
  readonly choices: (string | undefined)[]
  readonly answers: (string | undefined)[]
  hasQuit: boolean
}

export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { steps = [], files = {}, answer, models = [] } = options
  const { folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-chat-'))) } = options
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const provider = scripted(...steps)
  const { store = createMemoryStore() } = options
  const opened: OpenRequest[] = []
  const sent: OutgoingMessage[] = []
  const screen = recordedScreen()
  const model = { provider: 'scripted', model: 'script-1', contextWindow: 100_000 }

  async function openAgent(request: AgentRequest): Promise<ChatAgent> {
    const { settings, interactor } = request
    const session = await openSession(store, request)
    const execution = createProcessContext({ cwd: folder, sandbox: 'off' })
    const authority = createAuthority({
      mode: settings.mode ?? 'ask',
      workspace: { root: folder, isTrusted: true },
      ...options.authority,
      interactors: [answer ? async (prompt) => answer(prompt) : interactor],
    })
    const snapshots = options.snapshots ? createSnapshots({ execution, store: `${folder}-snapshots` }) : undefined
    const work = workInRun()
    const agent = createAgent({
      ...coding,
      provider,
      session,
      execution,
      authority,
      ...(options.skills && { skills: options.skills }),
      extensions: [...(snapshots ? [snapshots.extension] : []), work],
    })
    const own = { model, folder, ...settings, mode: authority.mode }
    return { agent, authority, work, settings: own, ...(snapshots && { snapshots }), close: () => agent.destroy() }
  }

  const made = createChat({ openAgent, store, models: async () => models })
  await made.open({})
  // The methods of a chat need no `this`.
  const chat: Chat = Object.create(made, {
    open: {
      value: async (request: OpenRequest) => {
        opened.push(request)
        await made.open(request)
      },
    },
    send: {
      value: async (message: OutgoingMessage) => {
        sent.push(message)
        await made.send(message)
        await idle()
      },
    },
  })
  const idle = (): Promise<void> =>
    new Promise((resolve) => {
      const stop = made.subscribe(check)
      check()
      function check(): void {
        if (made.state.phase !== 'idle') return
        queueMicrotask(() => stop())
        resolve()
      }
    })
  const context: CommandContext = { chat, screen, commands: options.commands ?? chatCommands }
  return {
    folder,
    provider,
    store,
    chat,
    screen,
    context,
    opened,
    sent,
    say: (text) => chat.send({ text }),
    type: (line) => runCommand(line, context),
    async close() {
      await chat.close()
      for (const path of [folder, `${folder}-snapshots`]) rmSync(path, { recursive: true, force: true })
    },
  }
}

async function openSession(store: SessionStore, { resume, fork }: OpenRequest): Promise<Session> {
  if (fork) return (await loadSession(store, fork.id)).fork(fork.at)
  return resume === undefined ? createSession({ store }) : loadSession(store, resume)
}

export function recordedScreen(): RecordedScreen {
  const screen: RecordedScreen = {
    ...{ printed: [], viewed: [], views: [], questions: [], drafts: [], copied: [], choices: [], answers: [] },
    hasQuit: false,
    print: (text) => void screen.printed.push(text),
    async choose(question) {
      screen.questions.push(question)
      const wanted = screen.choices.shift()
      if (wanted === undefined) return undefined
      const at = question.items.findIndex(({ label }) => label.trimStart().startsWith(wanted))
      if (at < 0)
        throw new Error(`"${question.title}" offers no "${wanted}": ${question.items.map(({ label }) => label)}`)
      return at
    },
    ask: async () => screen.answers.shift(),
    view: async (page) => void screen.viewed.push(page),
    open: async (name) => void screen.views.push(name),
    setDraft: (text) => void screen.drafts.push(text),
    edit: async (text) => `${text} edited`,
    async copy(text) {
      screen.copied.push(text)
      return 'test'
    },
    quit() {
      screen.hasQuit = true
    },
  }
  return screen
}
