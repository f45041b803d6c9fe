import type { ToolOrigin } from '../core/authority.ts'
import { show } from '../core/behavior.ts'
import type { Clock } from '../core/clock.ts'
import { isRecord } from '../core/is-record.ts'
import { within } from '../core/waiting.ts'
import { type SchemaCheck, schemaCheck } from '../platform/schema-check.ts'
import { contractOfAiSdkTool, isAiSdkTool } from './ai-sdk-tool.ts'
import { contractVersion, type ToolConfig } from './contract.ts'
import type { FoundTool } from './discover.ts'
import { type HostedTool, slotOf } from './host.ts'
import { importFile } from './import-file.ts'
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
