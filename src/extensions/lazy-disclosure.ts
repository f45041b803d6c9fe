import type { HookContexts } from '../core/hook-map.ts'
import type { Extension } from '../core/run.ts'
import { buildSearchableCatalog } from './disclosure/catalogue.ts'
import { Disclosure } from './disclosure/disclosure.ts'
import { foreignText } from './disclosure/foreign-text.ts'
import { offerSearch } from './disclosure/tool-search.ts'

/**
 * `behavior.toolDisclosure` and a server's `disclosure`: tools of servers whose schemas the model gets when it asks for
 * them. The system prompt lists them; `tool_search` finds them; who calls one before that is told so.
 */
export function lazyDisclosure(): Extension {
  return {
    name: 'lazy-disclosure',
    start(run, hooks) {
      const disclosure = new Disclosure(run)
      let isOpen = false
      let isGuarded = false
      let searchTool: string | undefined

      /** With the first tool that is held back: at the start, or when its server comes. */
      function open(): void {
        if (isOpen || disclosure.catalog.length === 0) return
        isOpen = true
        searchTool = disclosure.offerTool()
        hooks.hook('session:end', offerSearch(run.log, run.id, disclosure))
      }

      /** Only now, so that every other gate comes first, and calls that an earlier run left open go on. */
      function guard(): void {
        if (isGuarded || !isOpen) return
        isGuarded = true
        hooks.hook('tool:gate', (gate) => {
          // Whoever calls from code has read the schema.
          if (gate.block || gate.result !== undefined || gate.parentCallId !== undefined) return
          if (!disclosure.isLocked(gate.name)) return
          gate.block = true
          gate.reason = refusal(gate, searchTool)
        })
      }

      open()
      if (isOpen) {
        // Never again in this run, whatever comes and goes: the prompt is cached.
        run.system.set(
          'searchable-tools',
          buildSearchableCatalog(disclosure.catalog, { ...(searchTool !== undefined && { searchTool }) }),
        )
      }
      hooks.hook('request:prepare', (request) => {
        const { specs } = run.tools
        // Who brings tools may have left the list as it was; who changed the list meant it.
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
