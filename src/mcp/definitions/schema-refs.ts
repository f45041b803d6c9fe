import { isRecord } from '../../core/is-record.ts'

/** Finds what a `$ref` of a document means, inside that document and nowhere else. */
export function refsOf(root: unknown): (ref: unknown) => { readonly target: unknown } | undefined {
  let anchors: Map<string, unknown> | undefined
  return (ref) => {
    if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
    const pointer = decoded(ref.slice(1))
    if (pointer === undefined) return undefined
    if (pointer === '') return { target: root }
    if (pointer.startsWith('/')) return follow(root, pointer)
    anchors ??= anchorsOf(root)
    return anchors.has(pointer) ? { target: anchors.get(pointer) } : undefined
  }
}

function follow(root: unknown, pointer: string): { readonly target: unknown } | undefined {
  let target = root
  for (const step of pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return undefined
    target = (target as Record<string, unknown>)[key]
  }
  return { target }
}

function anchorsOf(root: unknown): Map<string, unknown> {
  const anchors = new Map<string, unknown>()
  const waiting = [root]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue
    if (isRecord(value))
      for (const name of [value.$anchor, value.$dynamicAnchor])
        if (typeof name === 'string' && !anchors.has(name)) anchors.set(name, value)
    waiting.push(...Object.values(value))
  }
  return anchors
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
