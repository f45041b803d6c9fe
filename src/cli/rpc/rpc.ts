import type { Writable } from 'node:stream'
import type { Agent } from '../../core/agent.ts'
import type { RunOptions } from '../../core/run.ts'
import type { Message } from '../../core/turn.ts'
import { version } from '../../core/version.ts'
import { createAgent } from '../../create-agent.ts'
import type { AgentEvent, SessionTurn } from '../../events/events.ts'
import { type CompactNow, compactNow } from '../../extensions/compact-now.ts'
import { visibleText } from '../../platform/visible-text.ts'
import type { RpcHost, RpcModel } from '../../rpc/host.ts'
import { serveZot } from '../../rpc/zot-server.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { assemble, thinkingNotices } from '../assembly/assemble.ts'
import { exitCodes } from '../cli-error.ts'
import type { RpcValues } from '../commands/rpc.ts'
import type { Config } from '../config/config.ts'
import { checkWritten } from '../failures/output-failure.ts'
import type { Io } from '../io.ts'
import { linesView } from '../mcp/servers.ts'
import type { ModelIo } from '../models/choose-model.ts'
import { chooseModel } from '../models/choose-model.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { outcomeOf } from '../run/run-outcome.ts'
import { untilStopped } from '../until-stopped.ts'
import { followPaced, holdBack } from './slow-reader.ts'
import { zotAliases, zotTools } from './zot-tools.ts'

/** `libero rpc`, with stdout reserved for frames. Errors before the first frame are thrown. */
export async function rpc(values: RpcValues, io: Io, frames: Writable): Promise<number> {
  const closing: Closing = []
  try {
    return await serve(await openHost(values, io, closing), frames, io)
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

/** Assembles the agent that flags and settings ask for, and adds to `closing` what must be closed again. */
async function openHost(values: RpcValues, io: Io, closing: Closing): Promise<RpcHost> {
  const { mode, sandbox, mcp, reasoning, 'no-tools': isNone = false, tools: only } = values
  const tools = zotTools({ none: isNone, ...(only !== undefined && { only }) })
  // With a selection of tools, tools in files and of configured MCP servers are left out.
  const isSelection = isNone || only !== undefined
  const cwd = await resolveCwd(values.cwd, io)
  const assembly = await assemble(
    {
      ...(mode && { mode }),
      ...(sandbox && { sandbox }),
      ...(mcp && { mcp }),
      ...(reasoning && { thinking: reasoning }),
    },
    {
      ...{ command: 'rpc', io, cwd, view: linesView((line) => io.err(`libero: ${line}`)) },
      // The client cannot be asked: calls that need an approval in every mode are denied.
      ...{ defaultMode: 'yolo', floor: 'deny' },
      ...(isSelection && { mcpServers: 'of flags' }),
      ...((!values['with-skills'] || values['no-skill']) && { skills: 'none' }),
    },
  )
  const { config, servers, thinking } = assembly
  const compaction = compactNow()
  const assembled = await agentOptions(assembly, {
    maxTurns: values['max-steps'],
    prompt: values['system-prompt'],
    system: values['append-system-prompt']?.join('\n\n'),
    tools,
    toolAliases: zotAliases,
    withoutFiles: isSelection,
    extensions: [compaction],
  })
  closing.push(() => assembled.close())
  const { 'api-key': apiKey, 'base-url': baseURL } = values
  const chosen = await chooseModel({ provider: values.provider, model: values.model, apiKey, baseURL }, config, io)
  const { provider, name, model } = chosen
  for (const notice of [...warningsOf(values), ...assembled.notices, ...thinkingNotices(chosen, thinking)])
    io.err(`libero: ${notice}`)
  const agent = createAgent({ ...assembled.options, provider })
  servers?.follow(agent)
  closing.push(() => agent.destroy())
  const models = servedModels({ provider: name, model, config, io, ...(baseURL !== undefined && { baseURL }) })
  const run = thinking === undefined ? {} : { thinking }
  return createAgentHost({ agent, compaction, version, provider: name, model, cwd, models, run })
}

/** Functions to call at the end, the last one first. */
type Closing = (() => Promise<void> | void)[]

/** Warnings about flags of zot that have no effect here. */
function warningsOf(values: RpcValues): string[] {
  const given = [
    values['no-yolo'] && '--no-yolo has no effect over rpc, where no person can be asked; see --mode',
    values.ext && '--ext has no effect: Libero has no extensions of this kind',
  ]
  return given.filter((text) => typeof text === 'string')
}

/** Serves until stdin ends, stdout closes, or a signal arrives. All frames are written by then. */
function serve(host: RpcHost, frames: Writable, io: Io): Promise<number> {
  const report = (problem: string): void => io.err(`libero: ${visibleText(problem)}`)
  return untilStopped(io, async (signal) => {
    const token = io.env.ZOTCORE_RPC_TOKEN
    const end = await serveZot({ host, input: io.stdin, output: frames, token, signal, report })
    checkWritten(frames)
    if (end.error !== undefined && end.reason !== 'output_closed') report(end.error)
    return exitCodeOf(end)
  })
}

function exitCodeOf({ reason }: Awaited<ReturnType<typeof serveZot>>): number {
  if (reason === 'output_closed') return exitCodes.closed
  return reason === 'input_ended' || reason === 'stopped' ? exitCodes.done : exitCodes.error
}

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
function createAgentHost(options: AgentHostOptions): RpcHost {
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

/** The models a client may choose from: those of one provider. */
interface ServedModels {
  has(model: string): Promise<boolean>
  /** The current model first, even if the provider does not list it. */
  list(current: string): Promise<readonly RpcModel[]>
}

export interface ServedModelsOptions {
  readonly provider: string
  /** The initial model. */
  readonly model: string
  /** The address of the service, if not the default one. */
  readonly baseURL?: string
  readonly config: Config
  readonly io: ModelIo
}

/** Requests the list on first use. If a provider's models cannot be listed, every name is accepted. */
export function servedModels({ provider, model: first, baseURL, config, io }: ServedModelsOptions): ServedModels {
  let loading: Promise<readonly RpcModel[]> | undefined

  async function load(): Promise<readonly RpcModel[]> {
    const { isLoopback } = await import('../models/providers.ts')
    if (baseURL === undefined) {
      const { listModels } = await import('../models/model-list.ts')
      return (await listModels(provider, config, io, { all: true })).map((model) => described(model))
    }
    // The price list does not apply to another address, and only a server of this machine is asked without a key.
    if (!isLoopback(baseURL)) return []
    const { askModels } = await import('../models/local-models.ts')
    return ((await askModels(baseURL, io, listTimeoutMs)) ?? []).map((id) => described({ id, provider }))
  }

  const loaded = (): Promise<readonly RpcModel[]> => {
    loading ??= load().catch(() => {
      loading = undefined // try again next time
      return []
    })
    return loading
  }

  return {
    async has(model) {
      if (model === first) return true
      const models = await loaded()
      const isListed = provider === 'offline' || models.some(({ id }) => id !== first)
      return !isListed || models.some(({ id }) => id === model)
    },
    async list(current) {
      const models = await loaded()
      const one = models.find(({ id }) => id === current) ?? described({ id: current, provider })
      return [one, ...models.filter(({ id }) => id !== current)]
    },
  }
}

const listTimeoutMs = 2000

type Described = Pick<RpcModel, 'id' | 'provider'> & Partial<Omit<RpcModel, 'id' | 'provider'>>

/** The protocol expresses "unknown" as zero and false. */
const described = ({ id, provider, contextWindow = 0, maxOutput = 0, reasoning = false }: Described): RpcModel => ({
  id,
  provider,
  contextWindow,
  maxOutput,
  reasoning,
})
