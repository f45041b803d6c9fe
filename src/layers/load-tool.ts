import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ToolOrigin } from '../core/authority.ts'
import { show } from '../core/behavior.ts'
import type { Clock } from '../core/clock.ts'
import { isRecord } from '../core/is-record.ts'
import { within } from '../core/waiting.ts'
import { digestOf } from '../platform/digest.ts'
import { type SchemaCheck, schemaCheck } from '../platform/schema-check.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import { contractOfAiSdkTool, isAiSdkTool } from './ai-sdk-tool.ts'
import { contractVersion, type ToolConfig } from './contract.ts'
import type { FoundTool } from './discover.ts'
import { type HostedTool, slotOf } from './host.ts'
import { validateContract } from './validate-contract.ts'

/** A loaded and checked tool. */
export interface LoadedTool extends HostedTool {
  readonly inputCheck: SchemaCheck
}

export interface LoadOptions {
  readonly config: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly coreVersion: string
  readonly clock: Clock
}

/** Loads a module and checks its contract. Throws on any error. */
export async function loadTool(found: FoundTool, options: LoadOptions): Promise<LoadedTool> {
  const { manifest, path, digest, layer } = found
  // Code with an incompatible manifest is not run.
  const unfit = manifest && (await versionProblem(manifest, options.coreVersion))
  if (unfit) throw new Error(unfit)
  const { value } = await within(importLimitMs, loadContract(found), tooSlow, options.clock)
  // Where the engine does not support comparing the bytes it read, this detects most changes.
  if ((await found.rehash()).digest !== digest) throw new Error('it was changed while it was being loaded; reload it')
  return checkContract(value, { layer, path, digest }, options, manifest)
}

/** Checks a contract. */
export async function checkContract(
  value: unknown,
  origin: ToolOrigin,
  options: LoadOptions,
  manifest?: FoundTool['manifest'],
): Promise<LoadedTool> {
  const contract = validateContract(value, 'tool')
  const { name, inputSchema, configSchema, executor } = contract
  if (executor === 'remote')
    throw new Error('its executor is "remote", which only MCP clients say; a tool in a file is "local"')
  const unfit = await versionProblem(contract, options.coreVersion)
  if (unfit) throw new Error(unfit)
  const config = configOf(name, options, manifest?.config)
  for (const schema of [configSchema, manifest?.configSchema]) {
    const problem = schema && (await schemaCheck(schema))(config)
    if (problem) throw new Error(`its configuration does not fit: ${problem}`)
  }
  return {
    contract,
    origin: Object.freeze(origin),
    config,
    inputCheck: await schemaCheck(inputSchema),
    stateCheck: await schemaCheck(slotOf(contract)?.schema ?? {}),
  }
}

/** The configuration of a tool. Enabled by default. */
export function configOf(name: string, { config }: Pick<LoadOptions, 'config'>, own = {}): ToolConfig {
  const configured = Object.hasOwn(config, name) ? config[name] : undefined
  return Object.freeze({ enabled: true, ...own, ...configured }) as ToolConfig
}

const importLimitMs = 10_000

function tooSlow(): never {
  throw new Error(`loading it took longer than ${importLimitMs} ms; let it do less at its top level`)
}

async function loadContract(found: FoundTool): Promise<{ readonly value: unknown }> {
  const exported = exportedTool(await importFile(found))
  // Wrapped, so that a value with a `then` method is not awaited.
  return isAiSdkTool(exported) ? { value: await contractOfAiSdkTool(exported, found.id) } : { value: exported }
}

/** The default export, or the only export with `execute`. */
function exportedTool(module: Record<string, unknown>): unknown {
  if (module.default !== undefined) return module.default
  const tools = Object.values(module).filter((value) => isRecord(value) && typeof value.execute === 'function')
  if (tools.length === 1) return tools[0]
  const names = Object.keys(module).map(show).join(', ')
  throw new Error(`it must export a tool as its default; it exports ${names || 'nothing'}`)
}

export interface Versions {
  readonly contractVersion: string
  readonly requiredCoreVersion: string
}

/** Why a tool's versions are incompatible with this library; undefined if they are compatible. */
export async function versionProblem(tool: Versions, coreVersion: string): Promise<string | undefined> {
  const { default: semver } = await import('semver')
  const { contractVersion: wanted, requiredCoreVersion: range } = tool
  if (!semver.valid(wanted)) return `its contractVersion "${wanted}" is no version such as "${contractVersion}"`
  // A later version of the contract may require more than this one offers.
  if (semver.major(wanted) !== semver.major(contractVersion) || semver.gt(wanted, contractVersion))
    return `it was written for version ${wanted} of the tool contract; this is ${contractVersion}`
  if (semver.validRange(range) === null)
    return `its requiredCoreVersion "${range}" is no range such as "^${coreVersion}"`
  if (!semver.satisfies(coreVersion, range, { includePrerelease: true }))
    return `it needs version ${range} of the library; this is ${coreVersion}`
  return undefined
}

/**
 * Loads a module exactly as it was hashed. The bytes of the module and of its relative imports are compared after the
 * engine has read them; an import that was not hashed is refused. Packages and later dynamic imports are not compared.
 * The digest is part of each URL, so that changed code is loaded again. An endless loop at the top level cannot be
 * interrupted.
 */
async function importFile(found: FoundTool): Promise<Record<string, unknown>> {
  const hooks = registerHashChecks(found)
  try {
    return await import(/* @vite-ignore */ withDigest(pathToFileURL(found.path).href, found.digest))
  } finally {
    hooks?.deregister()
  }
}

/** Registers the checks, if this version of Node supports them. */
function registerHashChecks({ digest, files }: FoundTool): { deregister(): void } | undefined {
  const { registerHooks } = nodeModule as Partial<typeof nodeModule>
  return registerHooks?.({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const from = pathIn(context.parentURL)
      const path = pathIn(resolved.url)
      if (from === undefined || path === undefined || !files.has(from)) return resolved
      if (files.has(path)) {
        if (!context.conditions.includes('import')) return resolved
        return { ...resolved, url: withDigest(resolved.url, digest) }
      }
      if (isOfPackage(specifier, path)) return resolved
      throw new Error(
        `it imports ${fullyVisible(specifier)}, which was not hashed before; name it by a plain relative path`,
      )
    },
    load(url, context, next) {
      const loaded = next(url, context)
      const hashed = files.get(pathIn(url) ?? '')
      if (hashed === undefined) return loaded
      if (digestOf(bytesOf(loaded.source ?? readFileSync(new URL(url)))) !== hashed)
        throw new Error('it was changed while it was being loaded; reload it')
      return loaded
    },
  })
}

function withDigest(address: string, digest: string): string {
  const url = new URL(address)
  url.searchParams.set('libero', digest)
  return url.href
}

function pathIn(url: string | undefined): string | undefined {
  return url?.startsWith('file:') ? fileURLToPath(new URL(url)) : undefined
}

/** Whether an import is from a package, by specifier or by path. */
function isOfPackage(specifier: string, path: string): boolean {
  return (!/^[./#]/.test(specifier) && !URL.canParse(specifier)) || path.split(sep).includes('node_modules')
}

function bytesOf(source: string | ArrayBuffer | NodeJS.TypedArray): Uint8Array | string {
  return typeof source === 'string' || source instanceof Uint8Array ? source : new Uint8Array(source as ArrayBuffer)
}
