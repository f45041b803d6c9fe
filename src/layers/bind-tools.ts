import type { Run } from '../core/run.ts'
import type { ToolSet } from './tool-set.ts'

/** Puts the tools of all layers into the toolbox of a run; `refresh` does so again where something has changed. */
export function bindTools(tools: ToolSet, run: Run): { refresh(): void } {
  const bound = new Map<string, unknown>()

  function refresh(): void {
    const active = tools.active()
    for (const name of [...tools.absentNames(), ...bound.keys()]) {
      if (active.has(name)) continue
      run.tools.remove(name)
      bound.delete(name)
    }
    for (const [name, { key, bind }] of active) {
      // What stays the same keeps its place: models are shown a list whose beginning they may have cached.
      if (bound.get(name) === key) continue
      run.tools.replace(bind(run))
      bound.set(name, key)
    }
  }

  refresh()
  return { refresh }
}
