import type { HookContexts } from '../core/hook-map.ts'
import type { Extension } from '../core/run.ts'
import { buildSearchableCatalog, Disclosure } from './disclosure/disclosure.ts'
import { foreignText } from './disclosure/lazy-tool.ts'
import { offerSearch } from './disclosure/tool-search.ts'

/**
 * `behavior.toolDisclosure` and a server's `disclosure`: the model gets the schemas of server tools only on request. The
 * system prompt lists the tools, `tool_search` loads them, and a call of one that is not loaded is refused.
 */
export function lazyDisclosure(): Extension {
  return {
    name: 'lazy-disclosure',
    start(run, hooks) {
      const disclosure = new Disclosure(run)
      let isOpen = false
      let isGuarded = false
      let searchTool: string | undefined

      /** Called when the first tool is held back: at the start, or when its server connects. */
      function open(): void {
        if (isOpen || disclosure.catalog.length === 0) return
        isOpen = true
        searchTool = disclosure.offerTool()
        hooks.hook('session:end', offerSearch(run.log, run.id, disclosure))
      }

      /** Added with the first request: after all other gates, and after the open calls of an earlier run. */
      function guard(): void {
        if (isGuarded || !isOpen) return
        isGuarded = true
        hooks.hook('tool:gate', (gate) => {
          // Calls that a tool makes were written by its author, who knows the schema.
          if (gate.block || gate.result !== undefined || gate.parentCallId !== undefined) return
          if (!disclosure.isLocked(gate.name)) return
          gate.block = true
          gate.reason = refusal(gate, searchTool)
        })
      }

      open()
      if (isOpen) {
        // Set once per run, even if servers come and go: the prompt is cached.
        run.system.set(
          'searchable-tools',
          buildSearchableCatalog(disclosure.catalog, { ...(searchTool !== undefined && { searchTool }) }),
        )
      }
      hooks.hook('request:prepare', (request) => {
        const { specs } = run.tools
        // A list that is not the run's own was changed by a handler, and is respected.
        const isAll = request.tools === specs || request.tools === disclosure.specs
        disclosure.refresh()
        open()
        guard()
        request.tools = disclosure.visible(isAll ? run.tools.specs : request.tools)
      })
    },
  }
}

function refusal({ displayName }: HookContexts['tool:gate'], searchTool: string | undefined): string {
  const name = foreignText(displayName, 200)
  if (searchTool === undefined)
    return `${name} is not loaded, and nothing in this run loads it. Go on without it, or say that you would need it`
  const input = JSON.stringify({ names: [displayName] })
  return `${name} is not loaded yet. Call ${searchTool} with ${input}, read its input schema, then call it`
}
