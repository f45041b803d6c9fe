/** Whether a value is an object with names, as JSON knows it: no list, and not null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object as the type that its fields were checked for. */
export const checkedAs = <T>(value: Unchecked<T>): T => value as T

/** An object whose fields have the names of a type, and any values. */
export type Unchecked<T> = { readonly [Field in keyof T]?: unknown }
