import type { ToolDef } from './tool.ts'

/** Gives the whole tool behind one whose code is loaded when it is needed. A copy of it with other settings has this too. */
export const loadTool: unique symbol = Symbol('loadTool')

export interface LazyTool extends ToolDef {
  readonly [loadTool]?: () => Promise<ToolDef>
}

/** A tool with all that it declares, without which it must not be judged: which files a call is about, for instance. */
export async function wholeTool(tool: LazyTool): Promise<ToolDef> {
  const whole = await tool[loadTool]?.()
  return whole ? { ...whole, ...tool } : tool
}
