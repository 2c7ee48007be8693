// Stands in for the package `langsmith`, which @langchain/core brings along to send traces of
// runs to a service. No run happens in the page, and nothing of it may be sent anywhere.

export class Client {}
export class RunTree {}
export const isRunTree = () => false;
export const isTraceableFunction = () => false;
export const getCurrentRunTree = () => undefined;
export const convertToDottedOrderFormat = () => ({ dottedOrder: "", microsecondPrecisionDatestring: "" });
