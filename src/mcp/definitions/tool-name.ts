import { digestOf } from '../../platform/digest.ts'

/** Services refuse longer ones. */
const longestName = 64

/** Whether a server may call a tool so. Folders are a fashion among servers; ways out of them are not. */
export function isToolName(name: unknown): name is string {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_./-]{1,64}$/.test(name)) return false
  return name.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

/** What a tool of a server is called here. The same for the same two names, whatever else the server has. */
export function toolName(server: string, tool: string): string {
  const name = `mcp_${server}_${tool.replaceAll(/[./]/g, '_')}`
  if (name.length <= longestName) return name
  return `${name.slice(0, longestName - 9)}_${digestOf(`${server}\0${tool}`).slice(0, 8)}`
}
