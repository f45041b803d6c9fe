import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { AgentError, codeOf } from '../../../core/errors.ts'
import { type FolderReader, folderReader } from './folder-reader.ts'
import type { TiddlyWikiCore } from './tiddlywiki-core.ts'

/** A booted wiki, and the reader that updates it from its folder. */
export interface BootedWiki {
  readonly $tw: TiddlyWikiCore
  readonly reader: FolderReader
}

export interface WikiToBoot {
  /** The folder of the package "tiddlywiki"; absent if it was not found. */
  readonly program: string | undefined
  readonly folder: string
  readonly loadPlugins: boolean
}

/**
 * Boots TiddlyWiki with only its core, and adds the folder's tiddlers afterwards: then their modules are not defined, and
 * never run. With `loadPlugins` the folder is trusted: its plugins and modules run.
 */
export function bootWiki({ program, folder, loadPlugins }: WikiToBoot): BootedWiki {
  const $tw = loadTiddlyWiki(program, `the wiki ${folder}`)
  const info = readInfo(folder)
  const loadIncluded = $tw.loadWikiTiddlers
  let reader: FolderReader | undefined
  $tw.loadWikiTiddlers = () => {
    // The core adds more deserializers later, which TiddlyWiki does not use at boot.
    const deserializers = { ...$tw.Wiki.tiddlerDeserializerModules }
    reader = folderReader({ $tw, folder, deserializers, isTrusted: loadPlugins })
    if (loadPlugins) loadTrusted($tw, folder, info, loadIncluded)
    if (loadPlugins) reader.refresh()
    return info
  }
  const isReady = startUp($tw, folder, (title) => reader?.filesOf(title).length === 0)
  if (!isReady || !reader) throw new AgentError(`TiddlyWiki did not come up with the wiki ${folder}; check its plugins`)
  $tw.boot.wikiPath = folder
  $tw.boot.wikiTiddlersPath = join(folder, 'tiddlers')
  return { $tw, reader }
}

/** Boots TiddlyWiki with only its core, for texts that are in no wiki. */
export function bootEmptyWiki(program: string | undefined): TiddlyWikiCore {
  const $tw = loadTiddlyWiki(program, 'no wiki')
  $tw.loadWikiTiddlers = () => ({})
  if (!startUp($tw, '.', () => true)) throw new AgentError('TiddlyWiki did not come up')
  return $tw
}

/** False if it did not come up. */
function startUp($tw: TiddlyWikiCore, folder: string, isOfProgram: (title: string) => boolean): boolean {
  $tw.boot.argv = [folder]
  $tw.boot.disabledStartupModules = [...notStarted]
  let isReady = false
  $tw.boot.boot(() => {
    isReady = true
  })
  // Its program is among the tiddlers, where every search would find it.
  for (const title of ofProgram) if (isOfProgram(title)) $tw.wiki.deleteTiddler(title)
  // Changes of tiddlers would trigger background actions and unpack plugins.
  $tw.wiki.dispatchEvent = () => {}
  return isReady
}

const ofProgram = [
  '$:/boot/boot.css',
  '$:/boot/boot.js',
  '$:/boot/bootprefix.js',
  '$:/core',
  '$:/core-server',
  '$:/isEncrypted',
  '$:/library/sjcl.js',
  '$:/status/RequireReloadDueToPluginChange',
]

/** These modules show pages, run commands or talk to a browser. */
const notStarted = [
  'commands',
  'story',
  'render',
  'favicon',
  'info',
  'password',
  'browser-messaging',
  'windows',
  'eventbus',
]

/** These plugins write files and call servers by themselves. */
const notLoaded = ['tiddlywiki/filesystem', 'tiddlywiki/tiddlyweb']

function loadTiddlyWiki(program: string | undefined, what: string): TiddlyWikiCore {
  if (program === undefined) throw new AgentError('Wikis need the package "tiddlywiki": npm install tiddlywiki')
  const require = createRequire(join(program, 'package.json'))
  checkVersion((require('./package.json') as { version: string }).version)
  const { TiddlyWiki } = require(program) as { TiddlyWiki: () => TiddlyWikiCore }
  const $tw = TiddlyWiki()
  // By default it prints, and ends the process.
  $tw.utils.error = (problem) => {
    throw new AgentError(`TiddlyWiki cannot start with ${what}: ${String(problem).slice(0, 500)}`)
  }
  return $tw
}

/** Earlier versions render nodes without their type, and follow cycles of pages without end. */
export function checkVersion(version: string): void {
  const isOld = version.localeCompare('5.3.5', 'en', { numeric: true }) < 0
  if (isOld)
    throw new AgentError(
      `createTiddlyWikiStore needs "tiddlywiki" 5.3.5 or later, found ${version}: npm install tiddlywiki@latest`,
    )
}

function readInfo(folder: string): Record<string, unknown> {
  const text = infoText(folder)
  try {
    const info: unknown = JSON.parse(text)
    if (typeof info === 'object' && info !== null) return info as Record<string, unknown>
  } catch {}
  throw new AgentError(`${join(folder, 'tiddlywiki.info')} is no JSON object; correct it`)
}

function infoText(folder: string): string {
  try {
    return readFileSync(join(folder, 'tiddlywiki.info'), 'utf8')
  } catch (cause) {
    throw new AgentError(
      `${folder} is no folder of a wiki, or is gone: its tiddlywiki.info cannot be read (${codeOf(cause) ?? 'unknown'}); make a wiki with npx tiddlywiki ${JSON.stringify(folder)} --init server`,
      { cause },
    )
  }
}

function loadTrusted(
  $tw: TiddlyWikiCore,
  folder: string,
  info: Record<string, unknown>,
  loadIncluded: TiddlyWikiCore['loadWikiTiddlers'],
): void {
  for (const included of listOf(info.includeWikis)) {
    const path = typeof included === 'string' ? included : (included as { path?: unknown } | null)?.path
    if (typeof path === 'string') loadIncluded(resolve(folder, path), { parentPaths: [folder], readOnly: true })
  }
  const plugins = listOf(info.plugins).filter((name) => !notLoaded.includes(String(name)))
  $tw.loadPlugins(plugins, $tw.config.pluginsPath)
  $tw.loadPlugins(listOf(info.themes), $tw.config.themesPath)
  $tw.loadPlugins(listOf(info.languages), $tw.config.languagesPath)
  for (const kind of ['plugins', 'themes', 'languages']) loadOwn($tw, join(folder, kind))
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function loadOwn($tw: TiddlyWikiCore, parent: string): void {
  for (const name of foldersIn(parent)) {
    const fields = $tw.loadPluginFolder(join(parent, name))
    if (fields) $tw.wiki.addTiddler(fields)
  }
}

function foldersIn(parent: string): string[] {
  try {
    return readdirSync(parent).sort()
  } catch {
    return []
  }
}
