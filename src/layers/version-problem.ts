import { contractVersion } from './contract.ts'

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
