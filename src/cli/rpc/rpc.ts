import type { Writable } from 'node:stream'
import { version } from '../../core/version.ts'
import { createAgent } from '../../create-agent.ts'
import { compactNow } from '../../extensions/compact-now.ts'
import { visibleText } from '../../platform/visible-text.ts'
import type { RpcHost } from '../../rpc/host.ts'
import { serveZot } from '../../rpc/zot-server.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { assemble, thinkingNotices } from '../assembly/assemble.ts'
import { exitCodes } from '../cli-error.ts'
import type { RpcValues } from '../commands/rpc.ts'
import { checkWritten } from '../failures/output-failure.ts'
import type { Io } from '../io.ts'
import { linesView } from '../mcp/servers.ts'
import { chooseModel } from '../models/choose-model.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { untilStopped } from '../until-stopped.ts'
import { createAgentHost } from './agent-host.ts'
import { servedModels } from './served-models.ts'
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
