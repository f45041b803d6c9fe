import type { Writable } from 'node:stream'
import { messageOf } from '../../core/errors.ts'
import { version } from '../../core/version.ts'
import { createAgent } from '../../create-agent.ts'
import { compactNow } from '../../extensions/compact-now.ts'
import { visibleText } from '../../platform/visible-text.ts'
import type { RpcHost } from '../../rpc/host.ts'
import { type ServeEnd, serveZot } from '../../rpc/zot-server.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { assemble, thinkingNotices } from '../assembly/assemble.ts'
import { exitCodes, stopCodes } from '../cli-error.ts'
import type { RpcValues } from '../commands/rpc.ts'
import { checkWritten } from '../failures/output-failure.ts'
import type { Io } from '../io.ts'
import { linesView } from '../mcp/servers-here.ts'
import { chooseModel } from '../models/choose-model.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { createAgentHost } from './agent-host.ts'
import { servedModels } from './served-models.ts'
import { zotAliases, zotTools } from './zot-tools.ts'

/** `libero rpc`, with stdout taken. Whatever can go wrong before the first frame is thrown. */
export async function rpc(values: RpcValues, io: Io, frames: Writable): Promise<number> {
  const closing: Closing = []
  try {
    const host = await openHost(values, io, closing)
    return await serve({ host, frames, io })
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

/** Puts together what flags and settings ask for. `closing` is told, step by step, what has to be closed again. */
export async function openHost(values: RpcValues, io: Io, closing: Closing): Promise<RpcHost> {
  const { mode, mcp, reasoning, 'no-tools': isNone = false, tools: only } = values
  const tools = zotTools({ none: isNone, ...(only !== undefined && { only }) })
  // Where only some tools are wanted, those of files and servers are not among them.
  const isNarrowed = isNone || only !== undefined
  const cwd = await resolveCwd(values.cwd, io)
  const assembly = await assemble(
    { ...(mode && { mode }), ...(mcp && { mcp }), ...(reasoning && { thinking: reasoning }) },
    {
      ...{ command: 'rpc', io, cwd, view: linesView((line) => io.err(`libero: ${line}`)) },
      // The client cannot be asked: calls that a person would have to approve in every mode are denied.
      ...{ defaultMode: 'yolo', floor: 'deny' },
      ...(isNarrowed && { mcpServers: 'of flags' }),
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
    withoutFiles: isNarrowed,
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

/** What is to be closed, the last one first. */
export type Closing = (() => Promise<void> | void)[]

/** What to tell a person about flags that zot has and we do not. */
function warningsOf(values: RpcValues): string[] {
  const given = [
    values['no-yolo'] && '--no-yolo has no effect over rpc, where nobody can be asked; see --mode',
    values.ext && '--ext has no effect: this version has no extensions of other programs',
  ]
  return given.filter((text) => typeof text === 'string')
}

interface ServeParts {
  readonly host: RpcHost
  readonly frames: Writable
  readonly io: Io
}

/** Serves until stdin ends, nobody reads any more, or a signal comes; all that was said is written by then. */
export async function serve({ host, frames, io }: ServeParts): Promise<number> {
  const stopping = new AbortController()
  let stopped: number | undefined
  let grace: NodeJS.Timeout | undefined
  const stop = (exitCode: number): void => {
    stopped ??= exitCode
    grace ??= setTimeout(() => io.quit(exitCode), graceMs).unref()
    stopping.abort()
  }
  const report = (problem: string): void => io.err(`libero: ${visibleText(problem)}`)
  const offs = [
    io.onSignal((signal) => stop(stopCodes[signal])),
    io.onCrash((error) => {
      report(`something failed that nobody was waiting for: ${messageOf(error)}`)
      stop(exitCodes.error)
    }),
  ]
  try {
    const end = await serveZot({
      host,
      input: io.stdin,
      output: frames,
      token: io.env.ZOTCORE_RPC_TOKEN,
      signal: stopping.signal,
      report,
    })
    checkWritten(frames)
    if (end.error !== undefined && end.reason !== 'output_closed') report(end.error)
    return stopped ?? codeOf(end)
  } finally {
    clearTimeout(grace)
    for (const off of offs) off()
  }
}

/** How long a reader may take for what is left, and a tool to end, after a signal. */
const graceMs = 5000

function codeOf({ reason }: ServeEnd): number {
  if (reason === 'output_closed') return exitCodes.closed
  return reason === 'input_ended' || reason === 'stopped' ? exitCodes.done : exitCodes.error
}
