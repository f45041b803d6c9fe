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

interface AgentHostOptions {
  readonly agent: Agent
  /** Must be one of the agent's extensions. */
  readonly compaction: CompactNow
  readonly version: string
  readonly provider: string
  readonly model: string
  readonly cwd: string
  readonly models: ServedModels
  /** For every prompt. */
  readonly run: Pick<RunOptions, 'thinking'>
}

/** The host of an RPC server: one agent with one conversation in memory. */
export function createAgentHost(options: AgentHostOptions): RpcHost {
  const { agent, compaction, version, provider, cwd, models } = options
  let { model } = options
  let active: AbortController | undefined
  let isCompacting = false
  let isReady: () => Promise<void> | undefined = () => undefined

  const wait = (): Promise<void> | undefined => isReady()
  holdBack(agent, wait)
  agent.hooks.hook('request:prepare', (request) => {
    request.model = model // a change applies to the next model call, not only to the next prompt
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
    applyBackpressure(ready) {
      isReady = ready
    },
  }
}

/** Compaction is not a prompt: only the usage events of its run are emitted. */
const isUsage = (event: AgentEvent): boolean => event.durable && event.entry.type === 'usage'

/** No person can be asked over this protocol, so calls that wait for an approval are refused, and the rest of their batch too. */
async function answerOpenCalls({ log }: Agent): Promise<void> {
  for (const { id } of log.transcript.openCalls) {
    const asked = log.transcript.approvals.get(id)
    const why =
      asked?.type === 'approval_requested'
        ? (asked.reason ?? 'this call is not allowed')
        : 'the run was halted before this call'
    await log.append({
      type: 'call_result',
      callId: id,
      output: `Permission required: ${why}. No person can be asked over this protocol; allow the call by a rule, or start with --mode yolo.`,
      isError: true,
      outcome: 'blocked',
    })
  }
}

/** Messages that repairs inserted have no time; they get that of the message before them. */
function asTurns(messages: readonly (Message & Partial<SessionTurn>)[]): SessionTurn[] {
  let createdAt = 0
  return messages.map((message, i) => {
    createdAt = message.createdAt ?? createdAt
    return { id: `shown-${i}`, runId: '', ...message, createdAt }
  })
}
