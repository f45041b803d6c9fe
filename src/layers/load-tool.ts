import type { ToolOrigin } from '../core/authority.ts'
import { show } from '../core/behavior.ts'
import type { Clock } from '../core/clock.ts'
import { isRecord } from '../core/is-record.ts'
import { type SchemaCheck, schemaCheck } from '../platform/schema-check.ts'
import { contractOfAiSdkTool, isAiSdkTool } from './ai-sdk-tool.ts'
import { contractVersion, type ToolConfig } from './contract.ts'
import type { FoundTool } from './discover.ts'
import { type HostedTool, slotOf } from './host.ts'
import { importFile } from './import-file.ts'
import { validateContract } from './validate-contract.ts'

/** A tool that may be brought to life. */
export interface LoadedTool extends HostedTool {
  readonly inputCheck: SchemaCheck
}

export interface LoadOptions {
  readonly config: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly coreVersion: string
  readonly clock: Clock
}

/** Loads a module and makes sure of everything it says. Whatever is wrong is thrown, in words for whoever put it there. */
export async function loadTool(found: FoundTool, options: LoadOptions): Promise<LoadedTool> {
  const { manifest, path, digest, layer } = found
  // Nothing runs that says beforehand that it does not fit.
  const unfit = manifest && (await versionProblem(manifest, options.coreVersion))
  if (unfit) throw new Error(unfit)
  const { value } = await inTime(contractIn(found), options.clock)
  // Where the engine does not let us compare what it has read, this says when it may have read something else.
  if ((await found.rehash()).digest !== digest) throw new Error('it was changed while it was being loaded; reload it')
  return checkContract(value, { layer, path, digest }, options, manifest)
}

/** The same for a contract that is at hand. */
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

/** What is configured for a tool. Without a word it is switched on. */
export function configOf(name: string, { config }: Pick<LoadOptions, 'config'>, own = {}): ToolConfig {
  const configured = Object.hasOwn(config, name) ? config[name] : undefined
  return Object.freeze({ enabled: true, ...own, ...configured }) as ToolConfig
}

/** How long a module may take to load. */
const importLimitMs = 10_000

async function inTime<T>(work: Promise<T>, clock: Clock): Promise<T> {
  let cancel = (): void => {}
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`loading it took longer than ${importLimitMs} ms; let it do less at its top level`)
    cancel = clock.timer(importLimitMs, () => reject(error))
  })
  return Promise.race([work, late]).finally(cancel)
}

async function contractIn(found: FoundTool): Promise<{ readonly value: unknown }> {
  const exported = toolIn(await importFile(found))
  // Wrapped, so that a value which poses as a promise is not waited for.
  return isAiSdkTool(exported) ? { value: await contractOfAiSdkTool(exported, found.id) } : { value: exported }
}

/** The default export, or the one export that can be executed. */
function toolIn(module: Record<string, unknown>): unknown {
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

/** Why a tool of these versions does not fit this library, or undefined if it does. */
export async function versionProblem(tool: Versions, coreVersion: string): Promise<string | undefined> {
  const { default: semver } = await import('semver')
  const { contractVersion: wanted, requiredCoreVersion: range } = tool
  if (!semver.valid(wanted)) return `its contractVersion "${wanted}" is no version such as "${contractVersion}"`
  // What a later version of the contract promises, this one may not keep.
  if (semver.major(wanted) !== semver.major(contractVersion) || semver.gt(wanted, contractVersion))
    return `it was written for version ${wanted} of the tool contract; this is ${contractVersion}`
  if (semver.validRange(range) === null)
    return `its requiredCoreVersion "${range}" is no range such as "^${coreVersion}"`
  if (!semver.satisfies(coreVersion, range, { includePrerelease: true }))
    return `it needs version ${range} of the library; this is ${coreVersion}`
  return undefined
}
