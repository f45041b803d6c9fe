import type { ToolOrigin } from '../core/authority.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { ToolSet } from './tool-set.ts'

/** Puts the tools of all layers into the toolbox of a run; `refresh` does so again where something has changed. */
export function bindTools(tools: ToolSet, run: Run): { refresh(): void } {
  const bound = new Map<string, unknown>()

  function refresh(): void {
    const active = tools.active()
    for (const name of [...tools.disabledNames(), ...bound.keys()]) {
      if (active.has(name)) continue
      run.tools.remove(name)
      bound.delete(name)
    }
    for (const [name, { key, shadows, bind }] of active) {
      // What stays the same keeps its place: models are shown a list whose beginning they may have cached.
      if (bound.get(name) === key) continue
      const below = bound.has(name) ? [] : [run.tools.get(name)].flatMap((tool) => (tool ? [layerOf(tool)] : []))
      run.tools.replace(shadowing(bind(run), [...shadows, ...below]))
      bound.set(name, key)
    }
  }

  refresh()
  return { refresh }
}

const layerOf = ({ origin }: ToolDef): ToolOrigin['layer'] => origin?.layer ?? 'host'

/** Whoever is asked about it hears whose name it took. */
function shadowing(tool: ToolDef, shadows: ToolOrigin['layer'][]): ToolDef {
  const { origin } = tool
  return origin && shadows.length > 0 ? { ...tool, origin: { ...origin, replaces: [...new Set(shadows)] } } : tool
}
