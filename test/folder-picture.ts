import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Every file and link below a folder, and every empty folder below it, with its content. A git folder is left out. */
export function picture(root: string, under = ''): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(join(root, under)).sort()) {
    if (name === '.git') continue
    const path = join(under, name)
    const stats = lstatSync(join(root, path))
    if (stats.isSymbolicLink()) found[path] = `→ ${readlinkSync(join(root, path))}`
    else if (stats.isDirectory() && readdirSync(join(root, path)).length === 0) found[`${path}/`] = ''
    else if (stats.isDirectory()) Object.assign(found, picture(root, path))
    else found[path] = `${stats.mode & 0o100 ? '755' : '644'} ${readFileSync(join(root, path), 'utf8')}`
  }
  return found
}
