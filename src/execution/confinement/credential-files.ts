import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import type { HiddenPath } from '../bubblewrap/args.ts'

/**
 * Credentials in the settings of programs at home that no list knows: files that only this user may read, with a name that
 * says what they are. Both count: settings of a careful person are private too, and git fails over ones that it cannot read.
 */
export function credentialFiles(home: string): HiddenPath[] {
  const found: HiddenPath[] = []
  const waiting = entriesOf(home)
    .filter(({ name }) => name.startsWith('.'))
    .map((entry) => ({ entry, depth: 1 }))
  for (let looked = 0; looked < mostEntries; looked++) {
    const next = waiting.shift()
    if (!next) break
    const { entry, depth } = next
    const path = `${entry.parentPath}/${entry.name}`
    if (entry.isFile()) {
      if (tellingName.test(entry.name) && isPrivate(path)) found.push({ path, isFolder: false })
    } else if (entry.isDirectory() && depth < mostDepth && !withoutSettings.has(entry.name))
      waiting.push(...entriesOf(path).map((one) => ({ entry: one, depth: depth + 1 })))
  }
  return found
}

/** `.config/program/profile/credentials.json`. */
const mostDepth = 4
const mostEntries = 20_000

const tellingName =
  /(?:^|[._-])(?:credentials?|secrets?|tokens?|auth|pass|passwd|password|keys?|keystore|id_(?:rsa|dsa|ecdsa|ed25519))(?:[._-]|$)|\.(?:pem|p8|p12|pfx|jks)$/i

/** Caches, toolchains and the work of others, with thousands of files. */
const withoutSettings = new Set([
  ...['.cache', '.npm', '.cargo', '.rustup', '.pyenv', '.rbenv', '.nvm', '.volta', '.bun', '.deno', '.asdf', '.gradle'],
  ...['.m2', '.git', 'node_modules', 'site-packages', 'Trash', '.vscode-server', '.cursor-server', '.venv'],
])

function isPrivate(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found !== undefined && (found.mode & 0o077) === 0
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // commands cannot read it either
  }
}
