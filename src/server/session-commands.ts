import type { Chat, ChatAgent, ChatSettings, OutgoingMessage } from '../chat/chat.ts'
import type { ChatCommand, CommandContext, CommandScreen } from '../chat/command.ts'
import { chatCommands } from '../chat/commands/chat-commands.ts'
import type { Session, SessionStore } from '../core/store.ts'
import { inboxOf } from '../sessions/pending.ts'
import { emptyView } from '../view/session-view.ts'
import type { OpenWorkspace } from './workspaces.ts'

/** What a command may do to a session over HTTP. */
export interface CommandActions {
  /** Whether a run of the session is under way. */
  readonly isBusy: boolean
  set(settings: Partial<ChatSettings>): Promise<void>
  send(message: OutgoingMessage, skill?: string): Promise<void>
  compact(): Promise<string>
  print(text: string): void
}

/** The commands of the terminal that need no screen; the page has its own ways for the others. */
const names: readonly string[] = ['model', 'thinking', 'profile', 'mode', 'plan', 'rename', 'label']

/** All commands that can be run over HTTP in a workspace. */
export async function remoteCommands({ workspace }: OpenWorkspace, actions?: CommandActions): Promise<ChatCommand[]> {
  const { summary } = chatCommands.find(({ name }) => name === 'compact')!
  const compact = { name: 'compact', summary, run: async () => actions?.print(await actions.compact()) }
  const own = (await workspace.commands?.()) ?? []
  return [...chatCommands.filter(({ name }) => names.includes(name)), compact, ...own]
}

/** What commands work on: of a chat they use no more than this. Errors name the command that was typed. */
export async function commandContext(
  open: OpenWorkspace,
  actions: CommandActions,
  typedName?: string,
): Promise<CommandContext> {
  const { workspace, session } = open
  const { execution, authority, profiles = [] } = workspace
  const inUse = (await workspace.settings?.(session)) ?? {}
  const settings: ChatSettings = { ...inUse, model: inUse.model ?? { provider: '', model: '' } }
  let skill: string | undefined
  const agent = {
    // Files are attached only as an authority allows.
    ...{ execution: authority && execution, handle: undefined, session },
    activateSkill: async (name: string) => {
      skill = name
    },
  }
  const chat = {
    state: { phase: actions.isBusy ? 'running' : 'idle', settings, view: emptyView, queue: [] },
    ...{ profiles, set: actions.set, models: async () => (await workspace.models?.()) ?? [] },
    send: (message: OutgoingMessage) => actions.send(message, skill),
    agent: { agent, settings, ...(authority && { authority }) } as unknown as ChatAgent,
  } as unknown as Chat
  return { chat, commands: await remoteCommands(open, actions), screen: screenOf(actions, typedName) }
}

/** A screen that shows text alone. */
function screenOf({ print }: CommandActions, typedName = 'command'): CommandScreen {
  const needsScreen = async (): Promise<never> => {
    const name = typedName.slice(0, 60)
    throw new Error(`/${name} asks a question, which cannot be answered here; write its argument: /${name} <argument>`)
  }
  return {
    ...{ print, choose: needsScreen, ask: needsScreen, view: needsScreen, open: needsScreen },
    ...{ edit: needsScreen, copy: needsScreen, setDraft() {}, quit() {} },
  }
}

/** The skills that the messages of a session ask for which the model has not got yet. */
export async function skillsWanted(store: SessionStore, { id, log }: Session): Promise<readonly string[]> {
  const waiting = [...log.transcript.inbox, ...(await inboxOf(store, id, log.head))]
  return [...new Set(waiting.flatMap(({ meta }) => (typeof meta?.skill === 'string' ? [meta.skill] : [])))]
}
