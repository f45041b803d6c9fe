/** This version of Libero, as package.json has it. */
export const version = '0.1.0'
