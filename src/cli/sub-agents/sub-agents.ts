import type { HookContexts } from '../../core/hook-map.ts'
import type { Extension, Run } from '../../core/run.ts'
import type { ToolDef } from '../../core/tool.ts'
import { allows, isNamed } from '../../skills/allowed-tools.ts'
import { createSpawnTool, type SpawnPreset } from '../../tools/spawn.ts'
import type { SubAgentFile } from './sub-agent-file.ts'

/** The tool `spawn` with these kinds of sub-agents. */
export function spawnWith(agents: readonly SubAgentFile[]): ToolDef {
  const presets = agents.map(({ name, description, system, model }): [string, SpawnPreset] => [
    name,
    { description, system, ...(model !== undefined && { model }) },
  ])
  return createSpawnTool({ presets: Object.fromEntries(presets) })
}

/**
 * Keeps sub-agents to the tools of their files: others are neither offered nor run, whichever server or file they come
 * from. What a sub-agent starts is bound by it too. Nothing is ever added to what the parent has.
 */
export function narrowSubAgents(agents: readonly SubAgentFile[]): Extension {
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  return {
    name: 'sub-agents',
    start(run, hooks) {
      const bounds = boundsOf(run, byName)
      if (bounds.length === 0) return
      hooks.hook('request:prepare', (request) => {
        request.tools = request.tools.filter(({ name }) => {
          const tool = run.tools.get(name)
          return bounds.every((agent) => isOffered(agent, { name, displayName: name, tool }))
        })
      })
      hooks.hook('tool:gate', (gate) => {
        const agent = bounds.find((one) => !isAllowed(one, gate, run))
        if (!agent || gate.block) return
        gate.block = true
        gate.reason = `the sub-agent "${agent.name}" may use ${agent.tools?.join(', ') || 'other tools'}; this call of ${gate.displayName} is outside of that`
      })
    },
  }
}

type Gate = HookContexts['tool:gate']

/** The files of a run and of those above it. A file counts for sub-agents only: an agent may have the same name. */
function boundsOf(run: Run, byName: ReadonlyMap<string, SubAgentFile>): readonly SubAgentFile[] {
  const bounds: SubAgentFile[] = []
  for (let one: Run | undefined = run; one; one = one.parent) {
    const agent = one.facts.depth > 0 && one.facts.agent !== undefined ? byName.get(one.facts.agent) : undefined
    if (agent && (agent.tools || agent.withoutTools.length > 0)) bounds.push(agent)
  }
  return bounds
}

const isOffered = ({ tools, withoutTools }: SubAgentFile, tool: Parameters<typeof isNamed>[1]): boolean =>
  (tools === undefined || tools.some((entry) => isNamed(entry, tool))) &&
  !withoutTools.some((entry) => !entry.includes('(') && isNamed(entry, tool))

/** A denied pattern denies every call of the tool that might match: all of them, as the pattern may be spelled otherwise. */
const isAllowed = ({ tools, withoutTools }: SubAgentFile, gate: Gate, run: Run): boolean =>
  (tools === undefined || tools.some((entry) => allows(entry, gate, run))) &&
  !withoutTools.some((entry) => isNamed(entry, gate))
