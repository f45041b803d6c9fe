import { setImmediate as nextTurn } from 'node:timers/promises'
import { textStart } from '../../platform/text-start.ts'
import type { HiddenPath } from '../bubblewrap/args.ts'
import { createFolderScan, look } from './folder-scan.ts'

/** Finds the credentials at home, and the pipes with a name there. Rejects with a reason if there is too much to search. */
export type FindCredentials = (home: string, closed: readonly string[]) => Promise<HiddenPath[]>

/**
 * Credentials in the settings of programs at home that no list knows: files that only this user may read, with a name that
 * says what they are. Both count: settings of a careful person are private too, and git fails over ones that it cannot read.
 * Pipes too, because a mount that is read-only can be written to there. Not those in a folder of `closed`, all of which is hidden: a program that renews its token there would end the command.
 */
export function createCredentialSearch({ mostEntries = 200_000 } = {}): FindCredentials {
  const scan = createFolderScan()

  return async (home, closed) => {
    const found: HiddenPath[] = []
    const isClosed = new Set(closed)
    const waiting = [{ folder: home, depth: 1 }]
    let looked = 0
    // It grows meanwhile.
    for (const [at, { folder, depth }] of waiting.entries()) {
      if (at % perTurn === perTurn - 1) await nextTurn()
      const content = scan(folder)
      if (!content) continue
      looked += content.names.length
      if (looked > mostEntries) throw tooMany(home, mostEntries)
      for (const name of content.names) {
        const path = `${folder}/${name}`
        if (isClosed.has(path)) continue
        if (content.pipes.has(name)) found.push({ path, isFolder: false })
        else if (depth === 1 && !name.startsWith('.')) continue
        else if (!content.folders.has(name)) {
          if (tellingName.test(name) && isPrivate(path)) found.push({ path, isFolder: false })
        } else if (depth < mostDepth && !withoutSettings.has(name)) waiting.push({ folder: path, depth: depth + 1 })
      }
    }
    return found
  }
}

/** Finds the credentials beside the programs of toolchains. */
export type FindToolchainSecrets = (folders: readonly string[], closed: readonly string[]) => Promise<ToolchainSecrets>

interface ToolchainSecrets {
  readonly secrets: readonly HiddenPath[]
  /** Settings that may hold a token. */
  readonly settings: readonly string[]
}

/**
 * The same in the folders of toolchains, which every command sees. They are large, and commands need their files: so only the
 * folders next to the top count, and private files of code and certificates do not.
 */
export function createToolchainSearch({ mostFolders = 400, mostFound = 100 } = {}): FindToolchainSecrets {
  const scan = createFolderScan()

  return async (folders, closed) => {
    const isClosed = new Set(closed)
    const secrets: HiddenPath[] = []
    const settings: string[] = []
    const waiting = folders.map((folder) => ({ folder, depth: 1 }))
    const seen = new Set(folders)
    // It grows meanwhile.
    for (const [at, { folder, depth }] of waiting.entries()) {
      if (at >= mostFolders) break
      if (at % perTurn === perTurn - 1) await nextTurn()
      const content = scan(folder)
      for (const name of content?.names ?? []) {
        const path = `${folder}/${name}`
        if (isClosed.has(path)) continue
        if (!content?.folders.has(name)) {
          if (toolSettings.has(name)) settings.push(path)
          if (isToolSecret(name) && isPrivate(path) && !isCertificate(path)) secrets.push({ path, isFolder: false })
        } else if (depth < mostToolDepth && !ofCode.has(name) && !seen.has(path)) {
          seen.add(path)
          waiting.push({ folder: path, depth: depth + 1 })
        }
      }
    }
    return { secrets: secrets.slice(0, mostFound), settings: settings.slice(0, mostFound) }
  }
}

/** `.nvm/versions/node/v24/etc/npmrc`. */
const mostToolDepth = 5

const toolSettings = new Set([
  ...['.npmrc', 'npmrc', '.yarnrc.yml', '.condarc', 'condarc', 'pip.conf', 'config.toml', 'bunfig.toml', 'uv.toml'],
  ...['.netrc', '.pypirc', 'NuGet.Config'],
])

/** Large, and of code or texts alone. */
const ofCode = new Set([
  ...['node_modules', 'site-packages', 'dist-packages', 'lib', 'lib64', 'libexec', 'include', 'man', 'doc', 'docs'],
  ...['locale', 'src', 'test', 'tests', 'pkgs', '__pycache__', '.git', 'registry', 'cache', 'mod'],
])

/** The modules of a language have such names too: `token.py`. */
function isToolSecret(name: string): boolean {
  if (name === '.env') return true
  return (
    tellingName.test(name) &&
    (/^\.?[^.]+$/.test(name) ||
      /\.(?:json|toml|ya?ml|txt|ini|conf|cfg|xml|pem|key|p8|p12|pfx|jks|gpg|env)$/i.test(name))
  )
}

/** Public ones, which programs need to connect. */
function isCertificate(path: string): boolean {
  if (!/\.pem$/i.test(path)) return false
  const text = textStart(path, mostCertificates)
  return text.includes('BEGIN CERTIFICATE') && !text.includes('PRIVATE KEY')
}

const mostCertificates = 1024 * 1024

/** `.config/program/profile/credentials.json`. */
const mostDepth = 4
/** How many folders are searched before other work gets its turn. */
const perTurn = 256

function tooMany(home: string, most: number): Error {
  return new Error(
    `${home} has more than ${most} files up to four folders deep, too many to search for credentials; hide a large folder there by a rule that denies fs.read, or work in another mode than yolo`,
  )
}

const tellingName =
  /(?:^|[._-])(?:credentials?|secrets?|tokens?|auth|pass|passwd|password|keys?|keystore|id_(?:rsa|dsa|ecdsa|ed25519))(?:[._-]|$)|\.(?:pem|p8|p12|pfx|jks)$/i

/** Caches, toolchains and the work of others, with thousands of files. */
const withoutSettings = new Set([
  ...['.cache', '.npm', '.cargo', '.rustup', '.pyenv', '.rbenv', '.nvm', '.volta', '.bun', '.deno', '.asdf', '.gradle'],
  ...['.m2', '.git', 'node_modules', 'site-packages', 'Trash', '.vscode-server', '.cursor-server', '.venv'],
])

function isPrivate(path: string): boolean {
  const found = look(path)
  return found?.isFile() === true && (found.mode & 0o077n) === 0n
}
