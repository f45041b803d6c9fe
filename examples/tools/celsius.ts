// A tool of the AI SDK as it is. With the package `ai` installed beside it one would write
//   export default tool({ description, inputSchema: jsonSchema({ … }), execute })
// where `tool` and `jsonSchema` only add types; zod and other Standard Schemas do as well.
// It goes by the name of its file, and it is always asked for, because it does not say what it does.
export default {
  description: 'Converts a temperature from degrees Fahrenheit to degrees Celsius.',
  inputSchema: {
    jsonSchema: {
      type: 'object',
      properties: { fahrenheit: { type: 'number', minimum: -459.67 } },
      required: ['fahrenheit'],
      additionalProperties: false,
    },
  },
  async execute({ fahrenheit }: { fahrenheit: number }, { abortSignal }: { abortSignal?: AbortSignal }) {
    abortSignal?.throwIfAborted()
    return { celsius: Math.round(((fahrenheit - 32) * 50) / 9) / 10 }
  },
}
