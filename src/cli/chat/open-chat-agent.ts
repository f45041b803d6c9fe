import type { AgentRequest, ChatAgent, ChatSettings, OpenRequest } from '../../chat/chat.ts'
import type { SessionStore } from '../../core/store.ts'
import { workInRun } from '../../extensions/work-in-run.ts'
import { askUser } from '../../tools/ask-user.ts'
import { presentPlan } from '../../tools/present-plan.ts'
import { presetName } from '../assembly/preset.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import type { ServersView } from '../mcp/servers.ts'
import { type OpenedAgent, type OpenOptions, openAgent } from '../run/open-agent.ts'

interface ChatAgentOptions {
  readonly io: Io
  /** Absolute. */
  readonly cwd: string
  readonly store: SessionStore | undefined
  /** What differs from the interactive terminal. */
  readonly own?: Partial<OpenOptions>
}

/** Opens an agent of the command line for a chat: what the person chose there counts more than the flags. */
export async function openChatAgent(
  flags: RunValues,
  request: AgentRequest,
  { io, cwd: begunIn, store, own }: ChatAgentOptions,
): Promise<ChatAgent> {
  const { settings, interactor, fork } = request
  const cwd = settings.folder ?? begunIn
  const values = chosenValues(flags, request, settings)
  const work = workInRun()
  const opened = await openAgent(values, {
    io,
    cwd,
    person: interactor,
    asksAtOnce: true,
    servers: serversView(request),
    extensions: [work],
    tools: [askUser, presentPlan], // there is a person to ask
    mayGoOffline: async () => true,
    ...(store && { store }),
    ...(fork?.at !== undefined && { forkAt: fork.at }),
    ...own,
  })
  const { agent, authority, snapshots, notices } = opened
  const warning = warningOf(values, opened)
  return {
    agent,
    work,
    authority,
    ...(snapshots && { snapshots }),
    settings: await settingsOf(values, opened, cwd),
    costOf: (...call) => opened.chosen.provider.costOf?.(...call),
    notices,
    ...(warning !== '' && { warning }),
    close: () => opened.close(),
  }
}

/** The flags of one agent, with what a person chose. Those for the session are replaced by the request. */
export function chosenValues(
  { resume: _, continue: __, fork: ___, ...flags }: RunValues,
  { resume, fork }: OpenRequest,
  { model, thinking, profile, mode }: Partial<ChatSettings>,
): RunValues {
  const { preset: ____, ...withoutPreset } = flags
  const id = resume ?? fork?.id
  return {
    ...(profile === undefined ? flags : withoutPreset),
    ...(mode !== undefined && { yolo: false, mode }),
    ...(id !== undefined && { resume: id }),
    ...(fork && { fork: true }),
    ...(model && { provider: model.provider, model: model.model }),
    ...(isThinkingFlag(thinking) && { thinking }),
    ...((profile === 'build' || profile === 'plan') && { profile }),
  }
}

/** `adaptive` is for programs; a person chooses how much. */
const isThinkingFlag = (level: ChatSettings['thinking']): level is NonNullable<RunValues['thinking']> =>
  level !== undefined && level !== 'adaptive'

const serversView = ({ notify }: AgentRequest): ServersView => ({
  waiting: (text) => text !== undefined && notify({ kind: 'info', text }),
  failed: (text) => notify({ kind: 'failure', text }),
  notice: (text) => notify({ kind: 'info', text }),
})

/** What stays visible: the model is none, or commands are not confined. */
function warningOf({ provider, model }: RunValues, { chosen, sandbox }: OpenedAgent): string {
  const isNamed = provider !== undefined || model !== undefined
  return [
    ...(chosen.name === 'offline' && !isNamed
      ? ['no model yet: trying things out with `offline`, a set of rules']
      : []),
    ...(sandbox.notice === undefined ? [] : ['no sandbox']),
  ].join(' · ')
}

/** What a run uses, by flags and settings. */
export async function settingsOf(
  values: RunValues,
  { chosen, thinking, authority, config }: Pick<OpenedAgent, 'chosen' | 'thinking' | 'authority' | 'config'>,
  folder: string,
): Promise<ChatSettings> {
  const { name, model, provider } = chosen
  const contextWindow = await provider.contextWindow?.(model)
  return {
    model: { provider: name, model, ...(contextWindow !== undefined && { contextWindow }) },
    ...(thinking !== undefined && { thinking }),
    profile: presetName(values, config),
    mode: authority.mode,
    folder,
  }
}
