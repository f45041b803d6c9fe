import { type LateTool, loadTool, wholeTool } from '../core/late-tool.ts'
import type { Extension } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { Toolbox } from '../core/toolbox.ts'
import { spawn } from '../tools/spawn.ts'
import { type LateToolKey, lateToolFacts } from './late-tool-facts.ts'

// The root gives the file tools by name, and loads none of them before a run begins that has one.

/** The tool of `libero/tools`. */
export const glob: ToolDef = late('glob')

/** The tool of `libero/tools`. */
export const grep: ToolDef = late('grep')

/** The tools of the preset `basic`. */
export const basicTools = {
  shell: late('shell'),
  readFile: late('readFile'),
  writeFile: late('writeFile'),
  edit: late('edit'),
  multiEdit: late('multiEdit'),
  listFiles: late('listFiles'),
  spawn,
}

function late(key: LateToolKey): ToolDef {
  const whole = async (): Promise<ToolDef> => (await import('./late-tool-set.ts')).lateToolSet[key]
  const tool: LateTool = {
    ...lateToolFacts[key],
    execute: async (input, ctx) => (await whole()).execute(input, ctx),
    [loadTool]: whole,
  }
  return tool
}

/** Adds what the late tools of a run do not say of themselves. Starts before the extensions that look at tools. */
export function lateTools(): Extension {
  return {
    name: 'late-tools',
    start({ tools }) {
      const given = [...tools.names()].map((name): LateTool => tools.get(name)!)
      return given.some((tool) => tool[loadTool]) ? complete(given, tools) : undefined
    },
  }
}

/** Each tool is put in again, late or not: the order in which a model reads them stays. */
async function complete(given: readonly LateTool[], tools: Toolbox): Promise<void> {
  for (const tool of given) tools.replace(await wholeTool(tool))
}
