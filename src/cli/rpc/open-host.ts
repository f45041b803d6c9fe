import { version } from '../../core/version.ts'
import { createAgent } from '../../create-agent.ts'
import { compactNow } from '../../extensions/compact-now.ts'
import type { RpcHost } from '../../rpc/host.ts'
import { aboutThinking } from '../assembly/about-thinking.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { assemble } from '../assembly/assemble.ts'
import type { RpcValues } from '../commands/rpc.ts'
import type { Io } from '../io.ts'
import { linesView } from '../mcp/servers-view.ts'
import { chooseModel } from '../models/choose-model.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { createAgentHost } from './agent-host.ts'
import { servedModels } from './served-models.ts'
import { zotAliases, zotTools } from './zot-tools.ts'

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
  for (const notice of [...warningsOf(values), ...assembled.notices, ...aboutThinking(chosen, thinking)])
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
