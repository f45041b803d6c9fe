import { fullyVisible } from '../platform/visible-text.ts'

/** Normalises a name: composed characters, trimmed. */
export function normalName(name: string): string {
  return name.normalize('NFKC').trim()
}

/** The key for comparing names, ignoring case: names that differ only in case are one folder on many machines. */
export function nameKey(name: string): string {
  return normalName(name).toLowerCase()
}

/** Why a name cannot be used; undefined if it is harmless, standard or not. */
export function whyDangerous(name: string): string | undefined {
  const shown = `"${fullyVisible(name.slice(0, 100))}"`
  const advice = 'use lower-case letters, digits and hyphens'
  if ([...name].length > mostHarmless) return `its name has more than ${mostHarmless} characters; ${advice}`
  if (!harmless.test(name)) return `its name ${shown} could be taken for a path or for markup; ${advice}`
  if (name.includes('..') || /[. ]$/.test(name)) return `its name ${shown} could be taken for a path; ${advice}`
  if (deviceName.test(name)) return `its name ${shown} is that of a device on Windows; choose another`
  return undefined
}

/** How a name violates the standard, in the order of its rules. */
export function nameFaults(name: string, folderName?: string): string[] {
  const length = [...name].length
  const isFolders = folderName === undefined || normalName(folderName) === name
  return [
    ...(length > 64 ? [`the name has ${length} characters, where 64 is the limit`] : []),
    ...(name === name.toLowerCase() ? [] : [`the name "${name}" has to be in lower case`]),
    ...(/^-|-$/.test(name) ? [`the name "${name}" begins or ends with a hyphen`] : []),
    ...(name.includes('--') ? [`the name "${name}" has two hyphens in a row`] : []),
    ...(/^[\p{L}\p{N}-]*$/u.test(name) ? [] : [`the name "${name}" has other characters than letters, digits and -`]),
    ...(isFolders ? [] : [`the name "${name}" is not that of its folder, "${folderName}"`]),
  ].map((fault) => fullyVisible(fault))
}

const mostHarmless = 128
const harmless = /^[\p{L}\p{N}_-][\p{L}\p{M}\p{N} ._+#&(),@'-]*$/u
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$/i
