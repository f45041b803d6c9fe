import { digestOfJson } from '../platform/canonical-json.ts'
import type { McpServerConfig } from './config.ts'

/** Names a server by what it is, so that nothing remembered about one holds for another that took its name. */
export function serverKey({ name, transport, command, args, cwd, url }: McpServerConfig): string {
  return `${name}:${digestOfJson({ transport, command, args, cwd, url })}`
}
