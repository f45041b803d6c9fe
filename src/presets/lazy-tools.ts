import type { Extension } from '../core/run.ts'
import { type LazyTool, loadTool, type ToolDef, wholeTool } from '../core/tool.ts'
import type { Toolbox } from '../core/toolbox.ts'
import { spawn } from '../tools/spawn.ts'
import { type LazyToolKey, lazyToolFacts } from './lazy-tool-facts.ts'

// The root gives the file tools by name, and loads none of them before a run begins that has one.

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

/** Adds what the late tools of a run do not say of themselves. Starts before the extensions that look at tools. */
export function lazyTools(): Extension {
  return {
    name: 'lazy-tools',
    start({ tools }) {
      const given = [...tools.names()].map((name): LazyTool => tools.get(name)!)
      return given.some((tool) => tool[loadTool]) ? complete(given, tools) : undefined
    },
  }
}

/** Each tool is put in again, late or not: the order in which a model reads them stays. */
async function complete(given: readonly LazyTool[], tools: Toolbox): Promise<void> {
  for (const tool of given) tools.replace(await wholeTool(tool))
}
