import type { Agent } from '../../core/agent.ts'
import type { RunOptions } from '../../core/run.ts'
import type { Message } from '../../core/turn.ts'
import type { AgentEvent, SessionTurn } from '../../events/events.ts'
import type { CompactNow } from '../../extensions/compact-now.ts'
import type { RpcHost } from '../../rpc/host.ts'
import { outcomeOf } from '../run/run-outcome.ts'
import type { ServedModels } from './served-models.ts'
import { followPaced, holdBack } from './slow-reader.ts'
import { zotAliases } from './zot-tools.ts'

/** What a wire's host is made of. */
export interface AgentHostOptions {
  readonly agent: Agent
  /** One of the agent's extensions. */
  readonly compaction: CompactNow
  readonly version: string
  readonly provider: string
  readonly model: string
  readonly cwd: string
  readonly models: ServedModels
  /** For every prompt. */
  readonly run: Pick<RunOptions, 'thinking'>
}

/** One agent with one conversation in memory, as a wire drives it. */
export function createAgentHost(options: AgentHostOptions): RpcHost {
  const { agent, compaction, version, provider, cwd, models } = options
  let { model } = options
  let active: AbortController | undefined
  let isCompacting = false
  let isReady: () => Promise<void> | undefined = () => undefined

  const wait = (): Promise<void> | undefined => isReady()
  holdBack(agent, wait)
  agent.hooks.hook('request:prepare', (request) => {
    request.model = model // whoever changed it meanwhile means the next call, and not the next prompt
  })

  async function during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    active = controller
    try {
      return await work(controller.signal)
    } finally {
      active = undefined
    }
  }

  return {
    version,
    provider,
    cwd,
    get model() {
      return model
    },
    toolName: (name) => zotAliases[name] ?? name,
    follow: (listener) =>
      followPaced(agent, wait, (event) => (isCompacting && !isUsage(event) ? undefined : listener(event))),
    prompt: (message, images) =>
      during(async (signal) => {
        const shown = images.map(({ mimeType: mediaType, data }) => ({ mediaType, data }))
        const asked = { ...options.run, ...(message !== '' && { prompt: message }), images: shown, model, signal }
        const outcome = await outcomeOf(agent.run(asked))
        if (outcome.status === 'suspended') await answerOpenCalls(agent)
        return outcome
      }),
    compact: () =>
      during(async (signal) => {
        isCompacting = true
        try {
          return await compaction.compact(agent, { model, signal })
        } finally {
          isCompacting = false
        }
      }),
    abort: () => active?.abort(new Error('the client said abort')),
    clear: () => agent.reset(),
    messages: () => asTurns(agent.log.transcript.messagesFor(agent.meta.name)),
    async setModel(name) {
      if (name === '' || !(await models.has(name)))
        throw new Error(`unknown model ${JSON.stringify(name)} (provider=${JSON.stringify(provider)})`)
      model = name
    },
    models: () => models.list(model),
    holdBack(ready) {
      isReady = ready
    },
  }
}

/** A summary is no prompt: of its run only what it cost is told. */
const isUsage = (event: AgentEvent): boolean => event.durable && event.entry.type === 'usage'

/** Nobody can be asked over this wire, now or later: what waits for permission is refused, and so are its neighbours. */
async function answerOpenCalls({ log }: Agent): Promise<void> {
  for (const { id } of log.transcript.openCalls) {
    const asked = log.transcript.approvals.get(id)
    const why =
      asked?.type === 'approval_requested' ? (asked.reason ?? 'it is not allowed') : 'the run was halted before it'
    await log.append({
      type: 'call_result',
      callId: id,
      output: `Permission required: ${why}. Nobody can be asked over this wire; allow it by a rule, or start with --mode yolo.`,
      isError: true,
      outcome: 'blocked',
    })
  }
}

/** What was put in where something is missing has no time of its own. */
function asTurns(messages: readonly (Message & Partial<SessionTurn>)[]): SessionTurn[] {
  let createdAt = 0
  return messages.map((message, i) => {
    createdAt = message.createdAt ?? createdAt
    return { id: `shown-${i}`, runId: '', ...message, createdAt }
  })
}
