import type { Extension } from '../core/run.ts'
import { type LazyTool, loadTool, type ToolDef, wholeTool } from '../core/tool.ts'
import type { Toolbox } from '../core/toolbox.ts'
import { spawn } from '../tools/spawn.ts'
import { type LazyToolKey, lazyToolFacts } from './lazy-tool-facts.ts'

// The root exports these tools; their code is loaded by the first run that has one.

/** The tool of `libero/tools`. */
export const glob: ToolDef = lazyTool('glob')

/** The tool of `libero/tools`. */
export const grep: ToolDef = lazyTool('grep')

/** The tools of the preset `basic`. */
export const basicTools = {
  shell: lazyTool('shell'),
  readFile: lazyTool('readFile'),
  writeFile: lazyTool('writeFile'),
  edit: lazyTool('edit'),
  multiEdit: lazyTool('multiEdit'),
  listFiles: lazyTool('listFiles'),
  spawn,
}

function lazyTool(key: LazyToolKey): ToolDef {
  const whole = async (): Promise<ToolDef> => (await import('./basic.ts')).lazyToolSet[key]
  const tool: LazyTool = {
    ...lazyToolFacts[key],
    execute: async (input, ctx) => (await whole()).execute(input, ctx),
    [loadTool]: whole,
  }
  return tool
}

/** Replaces lazy tools by the complete ones when a run starts. Comes before the extensions that read their declarations. */
export function lazyTools(): Extension {
  return {
    name: 'lazy-tools',
    start({ tools }) {
      const given = [...tools.names()].map((name): LazyTool => tools.get(name)!)
      return given.some((tool) => tool[loadTool]) ? complete(given, tools) : undefined
    },
  }
}

/** Replaces all tools, lazy or not, so that their order stays the same. */
async function complete(given: readonly LazyTool[], tools: Toolbox): Promise<void> {
  for (const tool of given) tools.replace(await wholeTool(tool))
}
