import type { ToolDef } from '../src/core/tool.ts'

/** Bytes of description and input schema, tool by tool. */
export type Sizes = readonly (readonly [description: number, schema: number])[]

/** What `@modelcontextprotocol/server-filesystem` and `server-everything` really say: little, which is the hard case. */
export const smallServers: Sizes = [
  ...([
    [85, 322],
    [457, 322],
    [234, 129],
    [324, 294],
    [228, 167],
    [185, 489],
    [310, 129],
  ] as const),
  ...([
    [309, 129],
    [323, 241],
    [360, 203],
    [325, 179],
    [424, 241],
    [296, 129],
    [248, 85],
  ] as const),
  ...([
    [28, 167],
    [75, 357],
    [81, 85],
    [76, 205],
    [60, 249],
    [81, 209],
    [30, 208],
  ] as const),
  ...([
    [30, 85],
    [247, 648],
    [52, 85],
    [58, 85],
    [60, 266],
    [270, 333],
  ] as const),
]

/** Servers in front of a large API: some hundred characters of advice, and schemas of 1 to 3 KB. */
export const apiServers: Sizes = [
  ...([
    [200, 1000],
    [260, 1800],
    [340, 1200],
    [600, 3000],
    [420, 2400],
  ] as const),
  ...([
    [380, 1500],
    [500, 2700],
    [240, 1100],
    [450, 2000],
    [300, 1400],
  ] as const),
]

const servers = ['calendar', 'database', 'files', 'issues', 'mail']
const verbs = ['add', 'archive', 'create', 'delete', 'get', 'list', 'search', 'update']
const things: Readonly<Record<string, readonly string[]>> = {
  calendar: ['attendee', 'calendar', 'event', 'free_slot', 'reminder'],
  database: ['index', 'query', 'row', 'schema', 'table'],
  files: ['allowed_directory', 'comment', 'file', 'folder', 'version'],
  issues: ['branch', 'issue', 'label', 'milestone', 'pull_request'],
  mail: ['attachment', 'draft', 'filter', 'label', 'thread'],
}

/** Two hundred tools of five servers. */
export function serverTools(sizes: Sizes): Record<string, ToolDef> {
  const tools: Record<string, ToolDef> = {}
  for (const server of servers)
    for (const thing of things[server]!)
      for (const verb of verbs) {
        const own = `${verb}_${thing}`
        const [description, schema] = sizes[Object.keys(tools).length % sizes.length]!
        const name = `mcp_${server}_${own}`
        tools[name] = {
          spec: { name, description: describe(verb, thing, description), inputSchema: schemaOf(thing, schema) },
          mcp: { server, tool: own },
          execute: () => `${own} done`,
        }
      }
  return tools
}

const advice = [
  'Only works on what the signed-in account may see.',
  'Results come in pages; pass the cursor of the last answer to go on.',
  'Prefer this over several single calls when many are needed at once.',
  'Fails with a clear error when the id does not exist or was removed in the meantime.',
]

function describe(verb: string, thing: string, bytes: number): string {
  const what = thing.replaceAll('_', ' ')
  let text = `${verb[0]!.toUpperCase()}${verb.slice(1)} one or more of the ${what}s that match the given fields.`
  for (let i = 0; text.length < bytes; i++) text += ` ${advice[i % advice.length]}`
  return text.slice(0, bytes)
}

/** Properties as servers have them, until it is large enough. */
function schemaOf(thing: string, bytes: number): ToolDef['spec']['inputSchema'] {
  const properties: Record<string, unknown> = {}
  const schema = { type: 'object', properties, required: [`${thing}_id`] }
  for (let i = 0; ; i++) {
    const name = i === 0 ? `${thing}_id` : `${fields[i % fields.length]}${i < fields.length ? '' : i}`
    const room = bytes - JSON.stringify(schema).length - name.length - 40
    if (room <= 0) return schema
    const description = `The ${name.replaceAll('_', ' ')} of the ${thing}, ${advice[i % advice.length]!.toLowerCase()}`
    properties[name] = { type: 'string', description: description.slice(0, room) }
  }
}

const fields = ['id', 'title', 'cursor', 'limit', 'order_by', 'filter', 'owner', 'created_after', 'format', 'dry_run']
