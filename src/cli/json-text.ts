/** JSON for programs that does nothing to a terminal either: what it would obey, or hide, is spelled out. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    unseen,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const unseen = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g
