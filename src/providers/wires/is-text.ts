/** Whether a field of a payload says anything. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
