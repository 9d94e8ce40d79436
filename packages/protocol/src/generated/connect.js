/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

// Common aliases
const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

// Exported root namespace
const $root = $protobuf.roots["holdfast"] || ($protobuf.roots["holdfast"] = {});

export const connect = $root.connect = (() => {

    /**
     * Namespace connect.
     * @exports connect
     * @namespace
     */
    const connect = {};

    connect.v1 = (function() {

        /**
         * Namespace v1.
         * @memberof connect
         * @namespace
         */
        const v1 = {};

        /**
         * GatewayMessageType enum.
         * @name connect.v1.GatewayMessageType
         * @enum {number}
         * @property {number} GATEWAY_HELLO=0 GATEWAY_HELLO value
         * @property {number} WORKER_CONNECT=1 WORKER_CONNECT value
         * @property {number} GATEWAY_CONNECTION_READY=2 GATEWAY_CONNECTION_READY value
         * @property {number} GATEWAY_EXECUTOR_REQUEST=3 GATEWAY_EXECUTOR_REQUEST value
         * @property {number} WORKER_READY=4 WORKER_READY value
         * @property {number} WORKER_REQUEST_ACK=5 WORKER_REQUEST_ACK value
         * @property {number} WORKER_REPLY=6 WORKER_REPLY value
         * @property {number} WORKER_REPLY_ACK=7 WORKER_REPLY_ACK value
         * @property {number} WORKER_PAUSE=8 WORKER_PAUSE value
         * @property {number} WORKER_HEARTBEAT=9 WORKER_HEARTBEAT value
         * @property {number} GATEWAY_HEARTBEAT=10 GATEWAY_HEARTBEAT value
         * @property {number} GATEWAY_CLOSING=11 GATEWAY_CLOSING value
         * @property {number} WORKER_REQUEST_EXTEND_LEASE=12 WORKER_REQUEST_EXTEND_LEASE value
         * @property {number} WORKER_REQUEST_EXTEND_LEASE_ACK=13 WORKER_REQUEST_EXTEND_LEASE_ACK value
         * @property {number} SYNC_FAILED=14 SYNC_FAILED value
         * @property {number} WORKER_STATUS=15 WORKER_STATUS value
         * @property {number} WORKER_CHECKPOINT=100 WORKER_CHECKPOINT value
         * @property {number} GATEWAY_CHECKPOINT_ACK=101 GATEWAY_CHECKPOINT_ACK value
         * @property {number} WORKER_REQUEST_NACK=102 WORKER_REQUEST_NACK value
         * @property {number} GATEWAY_CANCEL=103 GATEWAY_CANCEL value
         * @property {number} WORKER_STALL=104 WORKER_STALL value
         */
        v1.GatewayMessageType = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "GATEWAY_HELLO"] = 0;
            values[valuesById[1] = "WORKER_CONNECT"] = 1;
            values[valuesById[2] = "GATEWAY_CONNECTION_READY"] = 2;
            values[valuesById[3] = "GATEWAY_EXECUTOR_REQUEST"] = 3;
            values[valuesById[4] = "WORKER_READY"] = 4;
            values[valuesById[5] = "WORKER_REQUEST_ACK"] = 5;
            values[valuesById[6] = "WORKER_REPLY"] = 6;
            values[valuesById[7] = "WORKER_REPLY_ACK"] = 7;
            values[valuesById[8] = "WORKER_PAUSE"] = 8;
            values[valuesById[9] = "WORKER_HEARTBEAT"] = 9;
            values[valuesById[10] = "GATEWAY_HEARTBEAT"] = 10;
            values[valuesById[11] = "GATEWAY_CLOSING"] = 11;
            values[valuesById[12] = "WORKER_REQUEST_EXTEND_LEASE"] = 12;
            values[valuesById[13] = "WORKER_REQUEST_EXTEND_LEASE_ACK"] = 13;
            values[valuesById[14] = "SYNC_FAILED"] = 14;
            values[valuesById[15] = "WORKER_STATUS"] = 15;
            values[valuesById[100] = "WORKER_CHECKPOINT"] = 100;
            values[valuesById[101] = "GATEWAY_CHECKPOINT_ACK"] = 101;
            values[valuesById[102] = "WORKER_REQUEST_NACK"] = 102;
            values[valuesById[103] = "GATEWAY_CANCEL"] = 103;
            values[valuesById[104] = "WORKER_STALL"] = 104;
            return values;
        })();

        /**
         * SDKResponseStatus enum.
         * @name connect.v1.SDKResponseStatus
         * @enum {number}
         * @property {number} NOT_COMPLETED=0 NOT_COMPLETED value
         * @property {number} DONE=1 DONE value
         * @property {number} ERROR=2 ERROR value
         */
        v1.SDKResponseStatus = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "NOT_COMPLETED"] = 0;
            values[valuesById[1] = "DONE"] = 1;
            values[valuesById[2] = "ERROR"] = 2;
            return values;
        })();

        /**
         * ConnectionStatus enum.
         * @name connect.v1.ConnectionStatus
         * @enum {number}
         * @property {number} CONNECTED=0 CONNECTED value
         * @property {number} READY=1 READY value
         * @property {number} DRAINING=2 DRAINING value
         * @property {number} DISCONNECTING=3 DISCONNECTING value
         * @property {number} DISCONNECTED=4 DISCONNECTED value
         */
        v1.ConnectionStatus = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "CONNECTED"] = 0;
            values[valuesById[1] = "READY"] = 1;
            values[valuesById[2] = "DRAINING"] = 2;
            values[valuesById[3] = "DISCONNECTING"] = 3;
            values[valuesById[4] = "DISCONNECTED"] = 4;
            return values;
        })();

        /**
         * WorkerDisconnectReason enum.
         * @name connect.v1.WorkerDisconnectReason
         * @enum {number}
         * @property {number} WORKER_SHUTDOWN=0 WORKER_SHUTDOWN value
         * @property {number} UNEXPECTED=1 UNEXPECTED value
         * @property {number} GATEWAY_DRAINING=2 GATEWAY_DRAINING value
         * @property {number} CONSECUTIVE_HEARTBEATS_MISSED=3 CONSECUTIVE_HEARTBEATS_MISSED value
         * @property {number} MESSAGE_TOO_LARGE=4 MESSAGE_TOO_LARGE value
         */
        v1.WorkerDisconnectReason = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "WORKER_SHUTDOWN"] = 0;
            values[valuesById[1] = "UNEXPECTED"] = 1;
            values[valuesById[2] = "GATEWAY_DRAINING"] = 2;
            values[valuesById[3] = "CONSECUTIVE_HEARTBEATS_MISSED"] = 3;
            values[valuesById[4] = "MESSAGE_TOO_LARGE"] = 4;
            return values;
        })();

        v1.ConnectMessage = (function() {

            /**
             * Properties of a ConnectMessage.
             * @typedef {Object} connect.v1.ConnectMessage.$Properties
             * @property {connect.v1.GatewayMessageType|null} [kind] ConnectMessage kind
             * @property {Uint8Array|null} [payload] ConnectMessage payload
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a ConnectMessage.
             * @memberof connect.v1
             * @interface IConnectMessage
             * @augments connect.v1.ConnectMessage.$Properties
             * @deprecated Use connect.v1.ConnectMessage.$Properties instead.
             */

            /**
             * Shape of a ConnectMessage.
             * @typedef {connect.v1.ConnectMessage.$Properties} connect.v1.ConnectMessage.$Shape
             */

            /**
             * Constructs a new ConnectMessage.
             * @memberof connect.v1
             * @classdesc Represents a ConnectMessage.
             * @constructor
             * @param {connect.v1.ConnectMessage.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const ConnectMessage = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * ConnectMessage kind.
             * @member {connect.v1.GatewayMessageType} kind
             * @memberof connect.v1.ConnectMessage
             * @instance
             */
            ConnectMessage.prototype.kind = 0;

            /**
             * ConnectMessage payload.
             * @member {Uint8Array} payload
             * @memberof connect.v1.ConnectMessage
             * @instance
             */
            ConnectMessage.prototype.payload = $util.newBuffer([]);

            /**
             * Encodes the specified ConnectMessage message. Does not implicitly {@link connect.v1.ConnectMessage.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.ConnectMessage
             * @static
             * @param {connect.v1.ConnectMessage.$Properties} message ConnectMessage message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            ConnectMessage.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.kind != null && $Object.hasOwnProperty.call(message, "kind") && message.kind !== 0)
                    writer.uint32(/* id 1, wireType 0 =*/8).int32(message.kind);
                if (message.payload != null && $Object.hasOwnProperty.call(message, "payload") && message.payload.length)
                    writer.uint32(/* id 2, wireType 2 =*/18).bytes(message.payload);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a ConnectMessage message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.ConnectMessage
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.ConnectMessage & connect.v1.ConnectMessage.$Shape} ConnectMessage
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            ConnectMessage.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.ConnectMessage();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.kind = value;
                            else
                                delete message.kind;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.payload = value;
                            else
                                delete message.payload;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ConnectMessage;
        })();

        v1.StartRequest = (function() {

            /**
             * Properties of a StartRequest.
             * @typedef {Object} connect.v1.StartRequest.$Properties
             * @property {Array.<string>|null} [excludeGateways] StartRequest excludeGateways
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a StartRequest.
             * @memberof connect.v1
             * @interface IStartRequest
             * @augments connect.v1.StartRequest.$Properties
             * @deprecated Use connect.v1.StartRequest.$Properties instead.
             */

            /**
             * Shape of a StartRequest.
             * @typedef {connect.v1.StartRequest.$Properties} connect.v1.StartRequest.$Shape
             */

            /**
             * Constructs a new StartRequest.
             * @memberof connect.v1
             * @classdesc Represents a StartRequest.
             * @constructor
             * @param {connect.v1.StartRequest.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const StartRequest = function (properties) {
                this.excludeGateways = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * StartRequest excludeGateways.
             * @member {Array.<string>} excludeGateways
             * @memberof connect.v1.StartRequest
             * @instance
             */
            StartRequest.prototype.excludeGateways = $util.emptyArray;

            /**
             * Encodes the specified StartRequest message. Does not implicitly {@link connect.v1.StartRequest.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.StartRequest
             * @static
             * @param {connect.v1.StartRequest.$Properties} message StartRequest message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            StartRequest.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.excludeGateways != null && message.excludeGateways.length)
                    for (let i = 0; i < message.excludeGateways.length; ++i)
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.excludeGateways[i]);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a StartRequest message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.StartRequest
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.StartRequest & connect.v1.StartRequest.$Shape} StartRequest
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            StartRequest.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.StartRequest();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.excludeGateways && message.excludeGateways.length))
                                message.excludeGateways = [];
                            message.excludeGateways.push(reader.stringVerify());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return StartRequest;
        })();

        v1.StartResponse = (function() {

            /**
             * Properties of a StartResponse.
             * @typedef {Object} connect.v1.StartResponse.$Properties
             * @property {string|null} [connectionId] StartResponse connectionId
             * @property {string|null} [gatewayEndpoint] StartResponse gatewayEndpoint
             * @property {string|null} [gatewayGroup] StartResponse gatewayGroup
             * @property {string|null} [sessionToken] StartResponse sessionToken
             * @property {string|null} [syncToken] StartResponse syncToken
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a StartResponse.
             * @memberof connect.v1
             * @interface IStartResponse
             * @augments connect.v1.StartResponse.$Properties
             * @deprecated Use connect.v1.StartResponse.$Properties instead.
             */

            /**
             * Shape of a StartResponse.
             * @typedef {connect.v1.StartResponse.$Properties} connect.v1.StartResponse.$Shape
             */

            /**
             * Constructs a new StartResponse.
             * @memberof connect.v1
             * @classdesc Represents a StartResponse.
             * @constructor
             * @param {connect.v1.StartResponse.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const StartResponse = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * StartResponse connectionId.
             * @member {string} connectionId
             * @memberof connect.v1.StartResponse
             * @instance
             */
            StartResponse.prototype.connectionId = "";

            /**
             * StartResponse gatewayEndpoint.
             * @member {string} gatewayEndpoint
             * @memberof connect.v1.StartResponse
             * @instance
             */
            StartResponse.prototype.gatewayEndpoint = "";

            /**
             * StartResponse gatewayGroup.
             * @member {string} gatewayGroup
             * @memberof connect.v1.StartResponse
             * @instance
             */
            StartResponse.prototype.gatewayGroup = "";

            /**
             * StartResponse sessionToken.
             * @member {string} sessionToken
             * @memberof connect.v1.StartResponse
             * @instance
             */
            StartResponse.prototype.sessionToken = "";

            /**
             * StartResponse syncToken.
             * @member {string} syncToken
             * @memberof connect.v1.StartResponse
             * @instance
             */
            StartResponse.prototype.syncToken = "";

            /**
             * Encodes the specified StartResponse message. Does not implicitly {@link connect.v1.StartResponse.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.StartResponse
             * @static
             * @param {connect.v1.StartResponse.$Properties} message StartResponse message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            StartResponse.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.connectionId != null && $Object.hasOwnProperty.call(message, "connectionId") && message.connectionId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.connectionId);
                if (message.gatewayEndpoint != null && $Object.hasOwnProperty.call(message, "gatewayEndpoint") && message.gatewayEndpoint !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.gatewayEndpoint);
                if (message.gatewayGroup != null && $Object.hasOwnProperty.call(message, "gatewayGroup") && message.gatewayGroup !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.gatewayGroup);
                if (message.sessionToken != null && $Object.hasOwnProperty.call(message, "sessionToken") && message.sessionToken !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.sessionToken);
                if (message.syncToken != null && $Object.hasOwnProperty.call(message, "syncToken") && message.syncToken !== "")
                    writer.uint32(/* id 5, wireType 2 =*/42).string(message.syncToken);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a StartResponse message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.StartResponse
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.StartResponse & connect.v1.StartResponse.$Shape} StartResponse
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            StartResponse.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.StartResponse();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.connectionId = value;
                            else
                                delete message.connectionId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.gatewayEndpoint = value;
                            else
                                delete message.gatewayEndpoint;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.gatewayGroup = value;
                            else
                                delete message.gatewayGroup;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sessionToken = value;
                            else
                                delete message.sessionToken;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.syncToken = value;
                            else
                                delete message.syncToken;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return StartResponse;
        })();

        v1.FlushResponse = (function() {

            /**
             * Properties of a FlushResponse.
             * @typedef {Object} connect.v1.FlushResponse.$Properties
             * @property {string|null} [requestId] FlushResponse requestId
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a FlushResponse.
             * @memberof connect.v1
             * @interface IFlushResponse
             * @augments connect.v1.FlushResponse.$Properties
             * @deprecated Use connect.v1.FlushResponse.$Properties instead.
             */

            /**
             * Shape of a FlushResponse.
             * @typedef {connect.v1.FlushResponse.$Properties} connect.v1.FlushResponse.$Shape
             */

            /**
             * Constructs a new FlushResponse.
             * @memberof connect.v1
             * @classdesc Represents a FlushResponse.
             * @constructor
             * @param {connect.v1.FlushResponse.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const FlushResponse = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * FlushResponse requestId.
             * @member {string} requestId
             * @memberof connect.v1.FlushResponse
             * @instance
             */
            FlushResponse.prototype.requestId = "";

            /**
             * Encodes the specified FlushResponse message. Does not implicitly {@link connect.v1.FlushResponse.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.FlushResponse
             * @static
             * @param {connect.v1.FlushResponse.$Properties} message FlushResponse message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            FlushResponse.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a FlushResponse message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.FlushResponse
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.FlushResponse & connect.v1.FlushResponse.$Shape} FlushResponse
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            FlushResponse.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.FlushResponse();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return FlushResponse;
        })();

        v1.AuthData = (function() {

            /**
             * Properties of an AuthData.
             * @typedef {Object} connect.v1.AuthData.$Properties
             * @property {string|null} [sessionToken] AuthData sessionToken
             * @property {string|null} [syncToken] AuthData syncToken
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an AuthData.
             * @memberof connect.v1
             * @interface IAuthData
             * @augments connect.v1.AuthData.$Properties
             * @deprecated Use connect.v1.AuthData.$Properties instead.
             */

            /**
             * Shape of an AuthData.
             * @typedef {connect.v1.AuthData.$Properties} connect.v1.AuthData.$Shape
             */

            /**
             * Constructs a new AuthData.
             * @memberof connect.v1
             * @classdesc Represents an AuthData.
             * @constructor
             * @param {connect.v1.AuthData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const AuthData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * AuthData sessionToken.
             * @member {string} sessionToken
             * @memberof connect.v1.AuthData
             * @instance
             */
            AuthData.prototype.sessionToken = "";

            /**
             * AuthData syncToken.
             * @member {string} syncToken
             * @memberof connect.v1.AuthData
             * @instance
             */
            AuthData.prototype.syncToken = "";

            /**
             * Encodes the specified AuthData message. Does not implicitly {@link connect.v1.AuthData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.AuthData
             * @static
             * @param {connect.v1.AuthData.$Properties} message AuthData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            AuthData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.sessionToken != null && $Object.hasOwnProperty.call(message, "sessionToken") && message.sessionToken !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.sessionToken);
                if (message.syncToken != null && $Object.hasOwnProperty.call(message, "syncToken") && message.syncToken !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.syncToken);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an AuthData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.AuthData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.AuthData & connect.v1.AuthData.$Shape} AuthData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            AuthData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.AuthData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sessionToken = value;
                            else
                                delete message.sessionToken;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.syncToken = value;
                            else
                                delete message.syncToken;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return AuthData;
        })();

        v1.SystemAttributes = (function() {

            /**
             * Properties of a SystemAttributes.
             * @typedef {Object} connect.v1.SystemAttributes.$Properties
             * @property {number|null} [cpuCores] SystemAttributes cpuCores
             * @property {number|null} [memBytes] SystemAttributes memBytes
             * @property {string|null} [os] SystemAttributes os
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a SystemAttributes.
             * @memberof connect.v1
             * @interface ISystemAttributes
             * @augments connect.v1.SystemAttributes.$Properties
             * @deprecated Use connect.v1.SystemAttributes.$Properties instead.
             */

            /**
             * Shape of a SystemAttributes.
             * @typedef {connect.v1.SystemAttributes.$Properties} connect.v1.SystemAttributes.$Shape
             */

            /**
             * Constructs a new SystemAttributes.
             * @memberof connect.v1
             * @classdesc Represents a SystemAttributes.
             * @constructor
             * @param {connect.v1.SystemAttributes.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const SystemAttributes = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * SystemAttributes cpuCores.
             * @member {number} cpuCores
             * @memberof connect.v1.SystemAttributes
             * @instance
             */
            SystemAttributes.prototype.cpuCores = 0;

            /**
             * SystemAttributes memBytes.
             * @member {number} memBytes
             * @memberof connect.v1.SystemAttributes
             * @instance
             */
            SystemAttributes.prototype.memBytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

            /**
             * SystemAttributes os.
             * @member {string} os
             * @memberof connect.v1.SystemAttributes
             * @instance
             */
            SystemAttributes.prototype.os = "";

            /**
             * Encodes the specified SystemAttributes message. Does not implicitly {@link connect.v1.SystemAttributes.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.SystemAttributes
             * @static
             * @param {connect.v1.SystemAttributes.$Properties} message SystemAttributes message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            SystemAttributes.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.cpuCores != null && $Object.hasOwnProperty.call(message, "cpuCores") && message.cpuCores !== 0)
                    writer.uint32(/* id 1, wireType 0 =*/8).int32(message.cpuCores);
                if (message.memBytes != null && $Object.hasOwnProperty.call(message, "memBytes") && (typeof message.memBytes === "object" ? message.memBytes.low || message.memBytes.high : message.memBytes !== 0))
                    writer.uint32(/* id 2, wireType 0 =*/16).int64(message.memBytes);
                if (message.os != null && $Object.hasOwnProperty.call(message, "os") && message.os !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.os);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a SystemAttributes message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.SystemAttributes
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.SystemAttributes & connect.v1.SystemAttributes.$Shape} SystemAttributes
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            SystemAttributes.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.SystemAttributes();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.cpuCores = value;
                            else
                                delete message.cpuCores;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                message.memBytes = value;
                            else
                                delete message.memBytes;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.os = value;
                            else
                                delete message.os;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return SystemAttributes;
        })();

        v1.Timestamp = (function() {

            /**
             * Properties of a Timestamp.
             * @typedef {Object} connect.v1.Timestamp.$Properties
             * @property {number|null} [seconds] Timestamp seconds
             * @property {number|null} [nanos] Timestamp nanos
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a Timestamp.
             * @memberof connect.v1
             * @interface ITimestamp
             * @augments connect.v1.Timestamp.$Properties
             * @deprecated Use connect.v1.Timestamp.$Properties instead.
             */

            /**
             * Shape of a Timestamp.
             * @typedef {connect.v1.Timestamp.$Properties} connect.v1.Timestamp.$Shape
             */

            /**
             * Constructs a new Timestamp.
             * @memberof connect.v1
             * @classdesc Represents a Timestamp.
             * @constructor
             * @param {connect.v1.Timestamp.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const Timestamp = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * Timestamp seconds.
             * @member {number} seconds
             * @memberof connect.v1.Timestamp
             * @instance
             */
            Timestamp.prototype.seconds = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

            /**
             * Timestamp nanos.
             * @member {number} nanos
             * @memberof connect.v1.Timestamp
             * @instance
             */
            Timestamp.prototype.nanos = 0;

            /**
             * Encodes the specified Timestamp message. Does not implicitly {@link connect.v1.Timestamp.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.Timestamp
             * @static
             * @param {connect.v1.Timestamp.$Properties} message Timestamp message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            Timestamp.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.seconds != null && $Object.hasOwnProperty.call(message, "seconds") && (typeof message.seconds === "object" ? message.seconds.low || message.seconds.high : message.seconds !== 0))
                    writer.uint32(/* id 1, wireType 0 =*/8).int64(message.seconds);
                if (message.nanos != null && $Object.hasOwnProperty.call(message, "nanos") && message.nanos !== 0)
                    writer.uint32(/* id 2, wireType 0 =*/16).int32(message.nanos);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a Timestamp message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.Timestamp
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.Timestamp & connect.v1.Timestamp.$Shape} Timestamp
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            Timestamp.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.Timestamp();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                message.seconds = value;
                            else
                                delete message.seconds;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.nanos = value;
                            else
                                delete message.nanos;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Timestamp;
        })();

        v1.AppConfiguration = (function() {

            /**
             * Properties of an AppConfiguration.
             * @typedef {Object} connect.v1.AppConfiguration.$Properties
             * @property {string|null} [appName] AppConfiguration appName
             * @property {string|null} [appVersion] AppConfiguration appVersion
             * @property {Uint8Array|null} [functions] AppConfiguration functions
             * @property {Uint8Array|null} [featureObservations] AppConfiguration featureObservations
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an AppConfiguration.
             * @memberof connect.v1
             * @interface IAppConfiguration
             * @augments connect.v1.AppConfiguration.$Properties
             * @deprecated Use connect.v1.AppConfiguration.$Properties instead.
             */

            /**
             * Shape of an AppConfiguration.
             * @typedef {connect.v1.AppConfiguration.$Properties} connect.v1.AppConfiguration.$Shape
             */

            /**
             * Constructs a new AppConfiguration.
             * @memberof connect.v1
             * @classdesc Represents an AppConfiguration.
             * @constructor
             * @param {connect.v1.AppConfiguration.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const AppConfiguration = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * AppConfiguration appName.
             * @member {string} appName
             * @memberof connect.v1.AppConfiguration
             * @instance
             */
            AppConfiguration.prototype.appName = "";

            /**
             * AppConfiguration appVersion.
             * @member {string|null|undefined} appVersion
             * @memberof connect.v1.AppConfiguration
             * @instance
             */
            AppConfiguration.prototype.appVersion = null;

            /**
             * AppConfiguration functions.
             * @member {Uint8Array} functions
             * @memberof connect.v1.AppConfiguration
             * @instance
             */
            AppConfiguration.prototype.functions = $util.newBuffer([]);

            /**
             * AppConfiguration featureObservations.
             * @member {Uint8Array} featureObservations
             * @memberof connect.v1.AppConfiguration
             * @instance
             */
            AppConfiguration.prototype.featureObservations = $util.newBuffer([]);

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(AppConfiguration.prototype, "_appVersion", {
                get: $util.oneOfGetter($oneOfFields = ["appVersion"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified AppConfiguration message. Does not implicitly {@link connect.v1.AppConfiguration.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.AppConfiguration
             * @static
             * @param {connect.v1.AppConfiguration.$Properties} message AppConfiguration message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            AppConfiguration.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.appName != null && $Object.hasOwnProperty.call(message, "appName") && message.appName !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.appName);
                if (message.appVersion != null && $Object.hasOwnProperty.call(message, "appVersion"))
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.appVersion);
                if (message.functions != null && $Object.hasOwnProperty.call(message, "functions") && message.functions.length)
                    writer.uint32(/* id 4, wireType 2 =*/34).bytes(message.functions);
                if (message.featureObservations != null && $Object.hasOwnProperty.call(message, "featureObservations") && message.featureObservations.length)
                    writer.uint32(/* id 5, wireType 2 =*/42).bytes(message.featureObservations);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an AppConfiguration message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.AppConfiguration
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.AppConfiguration & connect.v1.AppConfiguration.$Shape} AppConfiguration
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            AppConfiguration.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.AppConfiguration();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.appName = value;
                            else
                                delete message.appName;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.appVersion = reader.stringVerify();
                            message._appVersion = "appVersion";
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.functions = value;
                            else
                                delete message.functions;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.featureObservations = value;
                            else
                                delete message.featureObservations;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return AppConfiguration;
        })();

        v1.FeatureObservations = (function() {

            /**
             * Properties of a FeatureObservations.
             * @typedef {Object} connect.v1.FeatureObservations.$Properties
             * @property {connect.v1.AIMetadataExtraction.$Properties|null} [aiMetadataExtraction] FeatureObservations aiMetadataExtraction
             * @property {connect.v1.ExtendedTraces.$Properties|null} [extendedTraces] FeatureObservations extendedTraces
             * @property {connect.v1.SendEvents.$Properties|null} [sendEvents] FeatureObservations sendEvents
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a FeatureObservations.
             * @memberof connect.v1
             * @interface IFeatureObservations
             * @augments connect.v1.FeatureObservations.$Properties
             * @deprecated Use connect.v1.FeatureObservations.$Properties instead.
             */

            /**
             * Shape of a FeatureObservations.
             * @typedef {connect.v1.FeatureObservations.$Properties} connect.v1.FeatureObservations.$Shape
             */

            /**
             * Constructs a new FeatureObservations.
             * @memberof connect.v1
             * @classdesc Represents a FeatureObservations.
             * @constructor
             * @param {connect.v1.FeatureObservations.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const FeatureObservations = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * FeatureObservations aiMetadataExtraction.
             * @member {connect.v1.AIMetadataExtraction.$Properties|null|undefined} aiMetadataExtraction
             * @memberof connect.v1.FeatureObservations
             * @instance
             */
            FeatureObservations.prototype.aiMetadataExtraction = null;

            /**
             * FeatureObservations extendedTraces.
             * @member {connect.v1.ExtendedTraces.$Properties|null|undefined} extendedTraces
             * @memberof connect.v1.FeatureObservations
             * @instance
             */
            FeatureObservations.prototype.extendedTraces = null;

            /**
             * FeatureObservations sendEvents.
             * @member {connect.v1.SendEvents.$Properties|null|undefined} sendEvents
             * @memberof connect.v1.FeatureObservations
             * @instance
             */
            FeatureObservations.prototype.sendEvents = null;

            /**
             * Encodes the specified FeatureObservations message. Does not implicitly {@link connect.v1.FeatureObservations.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.FeatureObservations
             * @static
             * @param {connect.v1.FeatureObservations.$Properties} message FeatureObservations message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            FeatureObservations.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.aiMetadataExtraction != null && $Object.hasOwnProperty.call(message, "aiMetadataExtraction"))
                    $root.connect.v1.AIMetadataExtraction.encode(message.aiMetadataExtraction, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                if (message.extendedTraces != null && $Object.hasOwnProperty.call(message, "extendedTraces"))
                    $root.connect.v1.ExtendedTraces.encode(message.extendedTraces, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.sendEvents != null && $Object.hasOwnProperty.call(message, "sendEvents"))
                    $root.connect.v1.SendEvents.encode(message.sendEvents, writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a FeatureObservations message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.FeatureObservations
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.FeatureObservations & connect.v1.FeatureObservations.$Shape} FeatureObservations
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            FeatureObservations.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.FeatureObservations();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            message.aiMetadataExtraction = $root.connect.v1.AIMetadataExtraction.decode(reader, reader.size(), $undefined, _depth + 1, message.aiMetadataExtraction);
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.extendedTraces = $root.connect.v1.ExtendedTraces.decode(reader, reader.size(), $undefined, _depth + 1, message.extendedTraces);
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.sendEvents = $root.connect.v1.SendEvents.decode(reader, reader.size(), $undefined, _depth + 1, message.sendEvents);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return FeatureObservations;
        })();

        v1.AIMetadataExtraction = (function() {

            /**
             * Properties of a AIMetadataExtraction.
             * @typedef {Object} connect.v1.AIMetadataExtraction.$Properties
             * @property {number|null} [readinessReason] AIMetadataExtraction readinessReason
             * @property {connect.v1.OTelSetup.$Properties|null} [otelSetup] AIMetadataExtraction otelSetup
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a AIMetadataExtraction.
             * @memberof connect.v1
             * @interface IAIMetadataExtraction
             * @augments connect.v1.AIMetadataExtraction.$Properties
             * @deprecated Use connect.v1.AIMetadataExtraction.$Properties instead.
             */

            /**
             * Shape of a AIMetadataExtraction.
             * @typedef {connect.v1.AIMetadataExtraction.$Properties} connect.v1.AIMetadataExtraction.$Shape
             */

            /**
             * Constructs a new AIMetadataExtraction.
             * @memberof connect.v1
             * @classdesc Represents a AIMetadataExtraction.
             * @constructor
             * @param {connect.v1.AIMetadataExtraction.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const AIMetadataExtraction = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * AIMetadataExtraction readinessReason.
             * @member {number} readinessReason
             * @memberof connect.v1.AIMetadataExtraction
             * @instance
             */
            AIMetadataExtraction.prototype.readinessReason = 0;

            /**
             * AIMetadataExtraction otelSetup.
             * @member {connect.v1.OTelSetup.$Properties|null|undefined} otelSetup
             * @memberof connect.v1.AIMetadataExtraction
             * @instance
             */
            AIMetadataExtraction.prototype.otelSetup = null;

            /**
             * Encodes the specified AIMetadataExtraction message. Does not implicitly {@link connect.v1.AIMetadataExtraction.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.AIMetadataExtraction
             * @static
             * @param {connect.v1.AIMetadataExtraction.$Properties} message AIMetadataExtraction message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            AIMetadataExtraction.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.readinessReason != null && $Object.hasOwnProperty.call(message, "readinessReason") && message.readinessReason !== 0)
                    writer.uint32(/* id 1, wireType 0 =*/8).int32(message.readinessReason);
                if (message.otelSetup != null && $Object.hasOwnProperty.call(message, "otelSetup"))
                    $root.connect.v1.OTelSetup.encode(message.otelSetup, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a AIMetadataExtraction message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.AIMetadataExtraction
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.AIMetadataExtraction & connect.v1.AIMetadataExtraction.$Shape} AIMetadataExtraction
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            AIMetadataExtraction.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.AIMetadataExtraction();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.readinessReason = value;
                            else
                                delete message.readinessReason;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.otelSetup = $root.connect.v1.OTelSetup.decode(reader, reader.size(), $undefined, _depth + 1, message.otelSetup);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return AIMetadataExtraction;
        })();

        v1.ExtendedTraces = (function() {

            /**
             * Properties of an ExtendedTraces.
             * @typedef {Object} connect.v1.ExtendedTraces.$Properties
             * @property {number|null} [readinessReason] ExtendedTraces readinessReason
             * @property {connect.v1.ExtendedTracesConfig.$Properties|null} [config] ExtendedTraces config
             * @property {connect.v1.OTelSetup.$Properties|null} [otelSetup] ExtendedTraces otelSetup
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an ExtendedTraces.
             * @memberof connect.v1
             * @interface IExtendedTraces
             * @augments connect.v1.ExtendedTraces.$Properties
             * @deprecated Use connect.v1.ExtendedTraces.$Properties instead.
             */

            /**
             * Shape of an ExtendedTraces.
             * @typedef {connect.v1.ExtendedTraces.$Properties} connect.v1.ExtendedTraces.$Shape
             */

            /**
             * Constructs a new ExtendedTraces.
             * @memberof connect.v1
             * @classdesc Represents an ExtendedTraces.
             * @constructor
             * @param {connect.v1.ExtendedTraces.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const ExtendedTraces = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * ExtendedTraces readinessReason.
             * @member {number} readinessReason
             * @memberof connect.v1.ExtendedTraces
             * @instance
             */
            ExtendedTraces.prototype.readinessReason = 0;

            /**
             * ExtendedTraces config.
             * @member {connect.v1.ExtendedTracesConfig.$Properties|null|undefined} config
             * @memberof connect.v1.ExtendedTraces
             * @instance
             */
            ExtendedTraces.prototype.config = null;

            /**
             * ExtendedTraces otelSetup.
             * @member {connect.v1.OTelSetup.$Properties|null|undefined} otelSetup
             * @memberof connect.v1.ExtendedTraces
             * @instance
             */
            ExtendedTraces.prototype.otelSetup = null;

            /**
             * Encodes the specified ExtendedTraces message. Does not implicitly {@link connect.v1.ExtendedTraces.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.ExtendedTraces
             * @static
             * @param {connect.v1.ExtendedTraces.$Properties} message ExtendedTraces message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            ExtendedTraces.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.readinessReason != null && $Object.hasOwnProperty.call(message, "readinessReason") && message.readinessReason !== 0)
                    writer.uint32(/* id 1, wireType 0 =*/8).int32(message.readinessReason);
                if (message.config != null && $Object.hasOwnProperty.call(message, "config"))
                    $root.connect.v1.ExtendedTracesConfig.encode(message.config, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.otelSetup != null && $Object.hasOwnProperty.call(message, "otelSetup"))
                    $root.connect.v1.OTelSetup.encode(message.otelSetup, writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an ExtendedTraces message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.ExtendedTraces
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.ExtendedTraces & connect.v1.ExtendedTraces.$Shape} ExtendedTraces
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            ExtendedTraces.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.ExtendedTraces();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.readinessReason = value;
                            else
                                delete message.readinessReason;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.config = $root.connect.v1.ExtendedTracesConfig.decode(reader, reader.size(), $undefined, _depth + 1, message.config);
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.otelSetup = $root.connect.v1.OTelSetup.decode(reader, reader.size(), $undefined, _depth + 1, message.otelSetup);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ExtendedTraces;
        })();

        v1.ExtendedTracesConfig = (function() {

            /**
             * Properties of an ExtendedTracesConfig.
             * @typedef {Object} connect.v1.ExtendedTracesConfig.$Properties
             * @property {number|null} [behavior] ExtendedTracesConfig behavior
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of an ExtendedTracesConfig.
             * @memberof connect.v1
             * @interface IExtendedTracesConfig
             * @augments connect.v1.ExtendedTracesConfig.$Properties
             * @deprecated Use connect.v1.ExtendedTracesConfig.$Properties instead.
             */

            /**
             * Shape of an ExtendedTracesConfig.
             * @typedef {connect.v1.ExtendedTracesConfig.$Properties} connect.v1.ExtendedTracesConfig.$Shape
             */

            /**
             * Constructs a new ExtendedTracesConfig.
             * @memberof connect.v1
             * @classdesc Represents an ExtendedTracesConfig.
             * @constructor
             * @param {connect.v1.ExtendedTracesConfig.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const ExtendedTracesConfig = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * ExtendedTracesConfig behavior.
             * @member {number} behavior
             * @memberof connect.v1.ExtendedTracesConfig
             * @instance
             */
            ExtendedTracesConfig.prototype.behavior = 0;

            /**
             * Encodes the specified ExtendedTracesConfig message. Does not implicitly {@link connect.v1.ExtendedTracesConfig.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.ExtendedTracesConfig
             * @static
             * @param {connect.v1.ExtendedTracesConfig.$Properties} message ExtendedTracesConfig message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            ExtendedTracesConfig.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.behavior != null && $Object.hasOwnProperty.call(message, "behavior") && message.behavior !== 0)
                    writer.uint32(/* id 1, wireType 0 =*/8).int32(message.behavior);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes an ExtendedTracesConfig message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.ExtendedTracesConfig
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.ExtendedTracesConfig & connect.v1.ExtendedTracesConfig.$Shape} ExtendedTracesConfig
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            ExtendedTracesConfig.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.ExtendedTracesConfig();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.behavior = value;
                            else
                                delete message.behavior;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return ExtendedTracesConfig;
        })();

        v1.SendEvents = (function() {

            /**
             * Properties of a SendEvents.
             * @typedef {Object} connect.v1.SendEvents.$Properties
             * @property {number|null} [readinessReason] SendEvents readinessReason
             * @property {connect.v1.SendEventsConfig.$Properties|null} [config] SendEvents config
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a SendEvents.
             * @memberof connect.v1
             * @interface ISendEvents
             * @augments connect.v1.SendEvents.$Properties
             * @deprecated Use connect.v1.SendEvents.$Properties instead.
             */

            /**
             * Shape of a SendEvents.
             * @typedef {connect.v1.SendEvents.$Properties} connect.v1.SendEvents.$Shape
             */

            /**
             * Constructs a new SendEvents.
             * @memberof connect.v1
             * @classdesc Represents a SendEvents.
             * @constructor
             * @param {connect.v1.SendEvents.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const SendEvents = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * SendEvents readinessReason.
             * @member {number} readinessReason
             * @memberof connect.v1.SendEvents
             * @instance
             */
            SendEvents.prototype.readinessReason = 0;

            /**
             * SendEvents config.
             * @member {connect.v1.SendEventsConfig.$Properties|null|undefined} config
             * @memberof connect.v1.SendEvents
             * @instance
             */
            SendEvents.prototype.config = null;

            /**
             * Encodes the specified SendEvents message. Does not implicitly {@link connect.v1.SendEvents.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.SendEvents
             * @static
             * @param {connect.v1.SendEvents.$Properties} message SendEvents message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            SendEvents.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.readinessReason != null && $Object.hasOwnProperty.call(message, "readinessReason") && message.readinessReason !== 0)
                    writer.uint32(/* id 1, wireType 0 =*/8).int32(message.readinessReason);
                if (message.config != null && $Object.hasOwnProperty.call(message, "config"))
                    $root.connect.v1.SendEventsConfig.encode(message.config, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a SendEvents message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.SendEvents
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.SendEvents & connect.v1.SendEvents.$Shape} SendEvents
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            SendEvents.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.SendEvents();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.readinessReason = value;
                            else
                                delete message.readinessReason;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.config = $root.connect.v1.SendEventsConfig.decode(reader, reader.size(), $undefined, _depth + 1, message.config);
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return SendEvents;
        })();

        v1.SendEventsConfig = (function() {

            /**
             * Properties of a SendEventsConfig.
             * @typedef {Object} connect.v1.SendEventsConfig.$Properties
             * @property {boolean|null} [eventKeyConfigured] SendEventsConfig eventKeyConfigured
             * @property {boolean|null} [eventApiOriginOverrideConfigured] SendEventsConfig eventApiOriginOverrideConfigured
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a SendEventsConfig.
             * @memberof connect.v1
             * @interface ISendEventsConfig
             * @augments connect.v1.SendEventsConfig.$Properties
             * @deprecated Use connect.v1.SendEventsConfig.$Properties instead.
             */

            /**
             * Shape of a SendEventsConfig.
             * @typedef {connect.v1.SendEventsConfig.$Properties} connect.v1.SendEventsConfig.$Shape
             */

            /**
             * Constructs a new SendEventsConfig.
             * @memberof connect.v1
             * @classdesc Represents a SendEventsConfig.
             * @constructor
             * @param {connect.v1.SendEventsConfig.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const SendEventsConfig = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * SendEventsConfig eventKeyConfigured.
             * @member {boolean} eventKeyConfigured
             * @memberof connect.v1.SendEventsConfig
             * @instance
             */
            SendEventsConfig.prototype.eventKeyConfigured = false;

            /**
             * SendEventsConfig eventApiOriginOverrideConfigured.
             * @member {boolean} eventApiOriginOverrideConfigured
             * @memberof connect.v1.SendEventsConfig
             * @instance
             */
            SendEventsConfig.prototype.eventApiOriginOverrideConfigured = false;

            /**
             * Encodes the specified SendEventsConfig message. Does not implicitly {@link connect.v1.SendEventsConfig.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.SendEventsConfig
             * @static
             * @param {connect.v1.SendEventsConfig.$Properties} message SendEventsConfig message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            SendEventsConfig.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.eventKeyConfigured != null && $Object.hasOwnProperty.call(message, "eventKeyConfigured") && message.eventKeyConfigured !== false)
                    writer.uint32(/* id 1, wireType 0 =*/8).bool(message.eventKeyConfigured);
                if (message.eventApiOriginOverrideConfigured != null && $Object.hasOwnProperty.call(message, "eventApiOriginOverrideConfigured") && message.eventApiOriginOverrideConfigured !== false)
                    writer.uint32(/* id 2, wireType 0 =*/16).bool(message.eventApiOriginOverrideConfigured);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a SendEventsConfig message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.SendEventsConfig
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.SendEventsConfig & connect.v1.SendEventsConfig.$Shape} SendEventsConfig
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            SendEventsConfig.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.SendEventsConfig();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.eventKeyConfigured = value;
                            else
                                delete message.eventKeyConfigured;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.eventApiOriginOverrideConfigured = value;
                            else
                                delete message.eventApiOriginOverrideConfigured;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return SendEventsConfig;
        })();

        v1.OTelSetup = (function() {

            /**
             * Properties of a OTelSetup.
             * @typedef {Object} connect.v1.OTelSetup.$Properties
             * @property {number|null} [path] OTelSetup path
             * @property {boolean|null} [providerFound] OTelSetup providerFound
             * @property {number|null} [providerSource] OTelSetup providerSource
             * @property {boolean|null} [addSpanProcessorAttempted] OTelSetup addSpanProcessorAttempted
             * @property {boolean|null} [spanProcessorAdded] OTelSetup spanProcessorAdded
             * @property {number|null} [failure] OTelSetup failure
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a OTelSetup.
             * @memberof connect.v1
             * @interface IOTelSetup
             * @augments connect.v1.OTelSetup.$Properties
             * @deprecated Use connect.v1.OTelSetup.$Properties instead.
             */

            /**
             * Shape of a OTelSetup.
             * @typedef {connect.v1.OTelSetup.$Properties} connect.v1.OTelSetup.$Shape
             */

            /**
             * Constructs a new OTelSetup.
             * @memberof connect.v1
             * @classdesc Represents a OTelSetup.
             * @constructor
             * @param {connect.v1.OTelSetup.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const OTelSetup = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * OTelSetup path.
             * @member {number} path
             * @memberof connect.v1.OTelSetup
             * @instance
             */
            OTelSetup.prototype.path = 0;

            /**
             * OTelSetup providerFound.
             * @member {boolean} providerFound
             * @memberof connect.v1.OTelSetup
             * @instance
             */
            OTelSetup.prototype.providerFound = false;

            /**
             * OTelSetup providerSource.
             * @member {number} providerSource
             * @memberof connect.v1.OTelSetup
             * @instance
             */
            OTelSetup.prototype.providerSource = 0;

            /**
             * OTelSetup addSpanProcessorAttempted.
             * @member {boolean} addSpanProcessorAttempted
             * @memberof connect.v1.OTelSetup
             * @instance
             */
            OTelSetup.prototype.addSpanProcessorAttempted = false;

            /**
             * OTelSetup spanProcessorAdded.
             * @member {boolean} spanProcessorAdded
             * @memberof connect.v1.OTelSetup
             * @instance
             */
            OTelSetup.prototype.spanProcessorAdded = false;

            /**
             * OTelSetup failure.
             * @member {number} failure
             * @memberof connect.v1.OTelSetup
             * @instance
             */
            OTelSetup.prototype.failure = 0;

            /**
             * Encodes the specified OTelSetup message. Does not implicitly {@link connect.v1.OTelSetup.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.OTelSetup
             * @static
             * @param {connect.v1.OTelSetup.$Properties} message OTelSetup message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            OTelSetup.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.path != null && $Object.hasOwnProperty.call(message, "path") && message.path !== 0)
                    writer.uint32(/* id 1, wireType 0 =*/8).int32(message.path);
                if (message.providerFound != null && $Object.hasOwnProperty.call(message, "providerFound") && message.providerFound !== false)
                    writer.uint32(/* id 2, wireType 0 =*/16).bool(message.providerFound);
                if (message.providerSource != null && $Object.hasOwnProperty.call(message, "providerSource") && message.providerSource !== 0)
                    writer.uint32(/* id 3, wireType 0 =*/24).int32(message.providerSource);
                if (message.addSpanProcessorAttempted != null && $Object.hasOwnProperty.call(message, "addSpanProcessorAttempted") && message.addSpanProcessorAttempted !== false)
                    writer.uint32(/* id 4, wireType 0 =*/32).bool(message.addSpanProcessorAttempted);
                if (message.spanProcessorAdded != null && $Object.hasOwnProperty.call(message, "spanProcessorAdded") && message.spanProcessorAdded !== false)
                    writer.uint32(/* id 5, wireType 0 =*/40).bool(message.spanProcessorAdded);
                if (message.failure != null && $Object.hasOwnProperty.call(message, "failure") && message.failure !== 0)
                    writer.uint32(/* id 6, wireType 0 =*/48).int32(message.failure);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a OTelSetup message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.OTelSetup
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.OTelSetup & connect.v1.OTelSetup.$Shape} OTelSetup
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            OTelSetup.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.OTelSetup();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.path = value;
                            else
                                delete message.path;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.providerFound = value;
                            else
                                delete message.providerFound;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.providerSource = value;
                            else
                                delete message.providerSource;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.addSpanProcessorAttempted = value;
                            else
                                delete message.addSpanProcessorAttempted;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.spanProcessorAdded = value;
                            else
                                delete message.spanProcessorAdded;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.failure = value;
                            else
                                delete message.failure;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return OTelSetup;
        })();

        v1.WorkerConnectRequestData = (function() {

            /**
             * Properties of a WorkerConnectRequestData.
             * @typedef {Object} connect.v1.WorkerConnectRequestData.$Properties
             * @property {string|null} [connectionId] WorkerConnectRequestData connectionId
             * @property {string|null} [instanceId] WorkerConnectRequestData instanceId
             * @property {connect.v1.AuthData.$Properties|null} [authData] WorkerConnectRequestData authData
             * @property {Uint8Array|null} [capabilities] WorkerConnectRequestData capabilities
             * @property {Array.<connect.v1.AppConfiguration.$Properties>|null} [apps] WorkerConnectRequestData apps
             * @property {boolean|null} [workerManualReadinessAck] WorkerConnectRequestData workerManualReadinessAck
             * @property {connect.v1.SystemAttributes.$Properties|null} [systemAttributes] WorkerConnectRequestData systemAttributes
             * @property {string|null} [environment] WorkerConnectRequestData environment
             * @property {string|null} [framework] WorkerConnectRequestData framework
             * @property {string|null} [platform] WorkerConnectRequestData platform
             * @property {string|null} [sdkVersion] WorkerConnectRequestData sdkVersion
             * @property {string|null} [sdkLanguage] WorkerConnectRequestData sdkLanguage
             * @property {connect.v1.Timestamp.$Properties|null} [startedAt] WorkerConnectRequestData startedAt
             * @property {number|null} [maxWorkerConcurrency] WorkerConnectRequestData maxWorkerConcurrency
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerConnectRequestData.
             * @memberof connect.v1
             * @interface IWorkerConnectRequestData
             * @augments connect.v1.WorkerConnectRequestData.$Properties
             * @deprecated Use connect.v1.WorkerConnectRequestData.$Properties instead.
             */

            /**
             * Shape of a WorkerConnectRequestData.
             * @typedef {connect.v1.WorkerConnectRequestData.$Properties} connect.v1.WorkerConnectRequestData.$Shape
             */

            /**
             * Constructs a new WorkerConnectRequestData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerConnectRequestData.
             * @constructor
             * @param {connect.v1.WorkerConnectRequestData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerConnectRequestData = function (properties) {
                this.apps = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerConnectRequestData connectionId.
             * @member {string} connectionId
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.connectionId = "";

            /**
             * WorkerConnectRequestData instanceId.
             * @member {string} instanceId
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.instanceId = "";

            /**
             * WorkerConnectRequestData authData.
             * @member {connect.v1.AuthData.$Properties|null|undefined} authData
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.authData = null;

            /**
             * WorkerConnectRequestData capabilities.
             * @member {Uint8Array} capabilities
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.capabilities = $util.newBuffer([]);

            /**
             * WorkerConnectRequestData apps.
             * @member {Array.<connect.v1.AppConfiguration.$Properties>} apps
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.apps = $util.emptyArray;

            /**
             * WorkerConnectRequestData workerManualReadinessAck.
             * @member {boolean} workerManualReadinessAck
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.workerManualReadinessAck = false;

            /**
             * WorkerConnectRequestData systemAttributes.
             * @member {connect.v1.SystemAttributes.$Properties|null|undefined} systemAttributes
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.systemAttributes = null;

            /**
             * WorkerConnectRequestData environment.
             * @member {string|null|undefined} environment
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.environment = null;

            /**
             * WorkerConnectRequestData framework.
             * @member {string} framework
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.framework = "";

            /**
             * WorkerConnectRequestData platform.
             * @member {string|null|undefined} platform
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.platform = null;

            /**
             * WorkerConnectRequestData sdkVersion.
             * @member {string} sdkVersion
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.sdkVersion = "";

            /**
             * WorkerConnectRequestData sdkLanguage.
             * @member {string} sdkLanguage
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.sdkLanguage = "";

            /**
             * WorkerConnectRequestData startedAt.
             * @member {connect.v1.Timestamp.$Properties|null|undefined} startedAt
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.startedAt = null;

            /**
             * WorkerConnectRequestData maxWorkerConcurrency.
             * @member {number|null|undefined} maxWorkerConcurrency
             * @memberof connect.v1.WorkerConnectRequestData
             * @instance
             */
            WorkerConnectRequestData.prototype.maxWorkerConcurrency = null;

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(WorkerConnectRequestData.prototype, "_environment", {
                get: $util.oneOfGetter($oneOfFields = ["environment"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(WorkerConnectRequestData.prototype, "_platform", {
                get: $util.oneOfGetter($oneOfFields = ["platform"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(WorkerConnectRequestData.prototype, "_maxWorkerConcurrency", {
                get: $util.oneOfGetter($oneOfFields = ["maxWorkerConcurrency"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified WorkerConnectRequestData message. Does not implicitly {@link connect.v1.WorkerConnectRequestData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerConnectRequestData
             * @static
             * @param {connect.v1.WorkerConnectRequestData.$Properties} message WorkerConnectRequestData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerConnectRequestData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.connectionId != null && $Object.hasOwnProperty.call(message, "connectionId") && message.connectionId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.connectionId);
                if (message.instanceId != null && $Object.hasOwnProperty.call(message, "instanceId") && message.instanceId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.instanceId);
                if (message.authData != null && $Object.hasOwnProperty.call(message, "authData"))
                    $root.connect.v1.AuthData.encode(message.authData, writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                if (message.capabilities != null && $Object.hasOwnProperty.call(message, "capabilities") && message.capabilities.length)
                    writer.uint32(/* id 4, wireType 2 =*/34).bytes(message.capabilities);
                if (message.apps != null && message.apps.length)
                    for (let i = 0; i < message.apps.length; ++i)
                        $root.connect.v1.AppConfiguration.encode(message.apps[i], writer.uint32(/* id 5, wireType 2 =*/42).fork(), _depth + 1).ldelim();
                if (message.workerManualReadinessAck != null && $Object.hasOwnProperty.call(message, "workerManualReadinessAck") && message.workerManualReadinessAck !== false)
                    writer.uint32(/* id 6, wireType 0 =*/48).bool(message.workerManualReadinessAck);
                if (message.systemAttributes != null && $Object.hasOwnProperty.call(message, "systemAttributes"))
                    $root.connect.v1.SystemAttributes.encode(message.systemAttributes, writer.uint32(/* id 7, wireType 2 =*/58).fork(), _depth + 1).ldelim();
                if (message.environment != null && $Object.hasOwnProperty.call(message, "environment"))
                    writer.uint32(/* id 8, wireType 2 =*/66).string(message.environment);
                if (message.framework != null && $Object.hasOwnProperty.call(message, "framework") && message.framework !== "")
                    writer.uint32(/* id 9, wireType 2 =*/74).string(message.framework);
                if (message.platform != null && $Object.hasOwnProperty.call(message, "platform"))
                    writer.uint32(/* id 10, wireType 2 =*/82).string(message.platform);
                if (message.sdkVersion != null && $Object.hasOwnProperty.call(message, "sdkVersion") && message.sdkVersion !== "")
                    writer.uint32(/* id 11, wireType 2 =*/90).string(message.sdkVersion);
                if (message.sdkLanguage != null && $Object.hasOwnProperty.call(message, "sdkLanguage") && message.sdkLanguage !== "")
                    writer.uint32(/* id 12, wireType 2 =*/98).string(message.sdkLanguage);
                if (message.startedAt != null && $Object.hasOwnProperty.call(message, "startedAt"))
                    $root.connect.v1.Timestamp.encode(message.startedAt, writer.uint32(/* id 13, wireType 2 =*/106).fork(), _depth + 1).ldelim();
                if (message.maxWorkerConcurrency != null && $Object.hasOwnProperty.call(message, "maxWorkerConcurrency"))
                    writer.uint32(/* id 14, wireType 0 =*/112).int64(message.maxWorkerConcurrency);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerConnectRequestData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerConnectRequestData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerConnectRequestData & connect.v1.WorkerConnectRequestData.$Shape} WorkerConnectRequestData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerConnectRequestData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerConnectRequestData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.connectionId = value;
                            else
                                delete message.connectionId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.instanceId = value;
                            else
                                delete message.instanceId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            message.authData = $root.connect.v1.AuthData.decode(reader, reader.size(), $undefined, _depth + 1, message.authData);
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.capabilities = value;
                            else
                                delete message.capabilities;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if (!(message.apps && message.apps.length))
                                message.apps = [];
                            message.apps.push($root.connect.v1.AppConfiguration.decode(reader, reader.size(), $undefined, _depth + 1));
                            continue;
                        }
                    case 6: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.workerManualReadinessAck = value;
                            else
                                delete message.workerManualReadinessAck;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            message.systemAttributes = $root.connect.v1.SystemAttributes.decode(reader, reader.size(), $undefined, _depth + 1, message.systemAttributes);
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.environment = reader.stringVerify();
                            message._environment = "environment";
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.framework = value;
                            else
                                delete message.framework;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            message.platform = reader.stringVerify();
                            message._platform = "platform";
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sdkVersion = value;
                            else
                                delete message.sdkVersion;
                            continue;
                        }
                    case 12: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sdkLanguage = value;
                            else
                                delete message.sdkLanguage;
                            continue;
                        }
                    case 13: {
                            if (wireType !== 2)
                                break;
                            message.startedAt = $root.connect.v1.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.startedAt);
                            continue;
                        }
                    case 14: {
                            if (wireType !== 0)
                                break;
                            message.maxWorkerConcurrency = reader.int64();
                            message._maxWorkerConcurrency = "maxWorkerConcurrency";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerConnectRequestData;
        })();

        v1.GatewayConnectionReadyData = (function() {

            /**
             * Properties of a GatewayConnectionReadyData.
             * @typedef {Object} connect.v1.GatewayConnectionReadyData.$Properties
             * @property {string|null} [heartbeatInterval] GatewayConnectionReadyData heartbeatInterval
             * @property {string|null} [extendLeaseInterval] GatewayConnectionReadyData extendLeaseInterval
             * @property {string|null} [statusInterval] GatewayConnectionReadyData statusInterval
             * @property {Array.<string>|null} [extensions] GatewayConnectionReadyData extensions
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a GatewayConnectionReadyData.
             * @memberof connect.v1
             * @interface IGatewayConnectionReadyData
             * @augments connect.v1.GatewayConnectionReadyData.$Properties
             * @deprecated Use connect.v1.GatewayConnectionReadyData.$Properties instead.
             */

            /**
             * Shape of a GatewayConnectionReadyData.
             * @typedef {connect.v1.GatewayConnectionReadyData.$Properties} connect.v1.GatewayConnectionReadyData.$Shape
             */

            /**
             * Constructs a new GatewayConnectionReadyData.
             * @memberof connect.v1
             * @classdesc Represents a GatewayConnectionReadyData.
             * @constructor
             * @param {connect.v1.GatewayConnectionReadyData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const GatewayConnectionReadyData = function (properties) {
                this.extensions = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * GatewayConnectionReadyData heartbeatInterval.
             * @member {string} heartbeatInterval
             * @memberof connect.v1.GatewayConnectionReadyData
             * @instance
             */
            GatewayConnectionReadyData.prototype.heartbeatInterval = "";

            /**
             * GatewayConnectionReadyData extendLeaseInterval.
             * @member {string} extendLeaseInterval
             * @memberof connect.v1.GatewayConnectionReadyData
             * @instance
             */
            GatewayConnectionReadyData.prototype.extendLeaseInterval = "";

            /**
             * GatewayConnectionReadyData statusInterval.
             * @member {string} statusInterval
             * @memberof connect.v1.GatewayConnectionReadyData
             * @instance
             */
            GatewayConnectionReadyData.prototype.statusInterval = "";

            /**
             * GatewayConnectionReadyData extensions.
             * @member {Array.<string>} extensions
             * @memberof connect.v1.GatewayConnectionReadyData
             * @instance
             */
            GatewayConnectionReadyData.prototype.extensions = $util.emptyArray;

            /**
             * Encodes the specified GatewayConnectionReadyData message. Does not implicitly {@link connect.v1.GatewayConnectionReadyData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.GatewayConnectionReadyData
             * @static
             * @param {connect.v1.GatewayConnectionReadyData.$Properties} message GatewayConnectionReadyData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            GatewayConnectionReadyData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.heartbeatInterval != null && $Object.hasOwnProperty.call(message, "heartbeatInterval") && message.heartbeatInterval !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.heartbeatInterval);
                if (message.extendLeaseInterval != null && $Object.hasOwnProperty.call(message, "extendLeaseInterval") && message.extendLeaseInterval !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.extendLeaseInterval);
                if (message.statusInterval != null && $Object.hasOwnProperty.call(message, "statusInterval") && message.statusInterval !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.statusInterval);
                if (message.extensions != null && message.extensions.length)
                    for (let i = 0; i < message.extensions.length; ++i)
                        writer.uint32(/* id 1000, wireType 2 =*/8002).string(message.extensions[i]);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a GatewayConnectionReadyData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.GatewayConnectionReadyData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.GatewayConnectionReadyData & connect.v1.GatewayConnectionReadyData.$Shape} GatewayConnectionReadyData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            GatewayConnectionReadyData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.GatewayConnectionReadyData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.heartbeatInterval = value;
                            else
                                delete message.heartbeatInterval;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.extendLeaseInterval = value;
                            else
                                delete message.extendLeaseInterval;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.statusInterval = value;
                            else
                                delete message.statusInterval;
                            continue;
                        }
                    case 1000: {
                            if (wireType !== 2)
                                break;
                            if (!(message.extensions && message.extensions.length))
                                message.extensions = [];
                            message.extensions.push(reader.stringVerify());
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return GatewayConnectionReadyData;
        })();

        v1.SystemError = (function() {

            /**
             * Properties of a SystemError.
             * @typedef {Object} connect.v1.SystemError.$Properties
             * @property {string|null} [code] SystemError code
             * @property {Uint8Array|null} [data] SystemError data
             * @property {string|null} [message] SystemError message
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a SystemError.
             * @memberof connect.v1
             * @interface ISystemError
             * @augments connect.v1.SystemError.$Properties
             * @deprecated Use connect.v1.SystemError.$Properties instead.
             */

            /**
             * Shape of a SystemError.
             * @typedef {connect.v1.SystemError.$Properties} connect.v1.SystemError.$Shape
             */

            /**
             * Constructs a new SystemError.
             * @memberof connect.v1
             * @classdesc Represents a SystemError.
             * @constructor
             * @param {connect.v1.SystemError.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const SystemError = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * SystemError code.
             * @member {string} code
             * @memberof connect.v1.SystemError
             * @instance
             */
            SystemError.prototype.code = "";

            /**
             * SystemError data.
             * @member {Uint8Array|null|undefined} data
             * @memberof connect.v1.SystemError
             * @instance
             */
            SystemError.prototype.data = null;

            /**
             * SystemError message.
             * @member {string} message
             * @memberof connect.v1.SystemError
             * @instance
             */
            SystemError.prototype.message = "";

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(SystemError.prototype, "_data", {
                get: $util.oneOfGetter($oneOfFields = ["data"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified SystemError message. Does not implicitly {@link connect.v1.SystemError.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.SystemError
             * @static
             * @param {connect.v1.SystemError.$Properties} message SystemError message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            SystemError.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.code != null && $Object.hasOwnProperty.call(message, "code") && message.code !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.code);
                if (message.data != null && $Object.hasOwnProperty.call(message, "data"))
                    writer.uint32(/* id 2, wireType 2 =*/18).bytes(message.data);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.message);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a SystemError message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.SystemError
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.SystemError & connect.v1.SystemError.$Shape} SystemError
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            SystemError.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.SystemError();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.code = value;
                            else
                                delete message.code;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            message.data = reader.bytes();
                            message._data = "data";
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return SystemError;
        })();

        v1.GatewayExecutorRequestData = (function() {

            /**
             * Properties of a GatewayExecutorRequestData.
             * @typedef {Object} connect.v1.GatewayExecutorRequestData.$Properties
             * @property {string|null} [requestId] GatewayExecutorRequestData requestId
             * @property {string|null} [accountId] GatewayExecutorRequestData accountId
             * @property {string|null} [envId] GatewayExecutorRequestData envId
             * @property {string|null} [appId] GatewayExecutorRequestData appId
             * @property {string|null} [appName] GatewayExecutorRequestData appName
             * @property {string|null} [functionId] GatewayExecutorRequestData functionId
             * @property {string|null} [functionSlug] GatewayExecutorRequestData functionSlug
             * @property {string|null} [stepId] GatewayExecutorRequestData stepId
             * @property {Uint8Array|null} [requestPayload] GatewayExecutorRequestData requestPayload
             * @property {Uint8Array|null} [systemTraceCtx] GatewayExecutorRequestData systemTraceCtx
             * @property {Uint8Array|null} [userTraceCtx] GatewayExecutorRequestData userTraceCtx
             * @property {string|null} [runId] GatewayExecutorRequestData runId
             * @property {string|null} [leaseId] GatewayExecutorRequestData leaseId
             * @property {string|null} [jobId] GatewayExecutorRequestData jobId
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a GatewayExecutorRequestData.
             * @memberof connect.v1
             * @interface IGatewayExecutorRequestData
             * @augments connect.v1.GatewayExecutorRequestData.$Properties
             * @deprecated Use connect.v1.GatewayExecutorRequestData.$Properties instead.
             */

            /**
             * Shape of a GatewayExecutorRequestData.
             * @typedef {connect.v1.GatewayExecutorRequestData.$Properties} connect.v1.GatewayExecutorRequestData.$Shape
             */

            /**
             * Constructs a new GatewayExecutorRequestData.
             * @memberof connect.v1
             * @classdesc Represents a GatewayExecutorRequestData.
             * @constructor
             * @param {connect.v1.GatewayExecutorRequestData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const GatewayExecutorRequestData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * GatewayExecutorRequestData requestId.
             * @member {string} requestId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.requestId = "";

            /**
             * GatewayExecutorRequestData accountId.
             * @member {string} accountId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.accountId = "";

            /**
             * GatewayExecutorRequestData envId.
             * @member {string} envId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.envId = "";

            /**
             * GatewayExecutorRequestData appId.
             * @member {string} appId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.appId = "";

            /**
             * GatewayExecutorRequestData appName.
             * @member {string} appName
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.appName = "";

            /**
             * GatewayExecutorRequestData functionId.
             * @member {string} functionId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.functionId = "";

            /**
             * GatewayExecutorRequestData functionSlug.
             * @member {string} functionSlug
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.functionSlug = "";

            /**
             * GatewayExecutorRequestData stepId.
             * @member {string|null|undefined} stepId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.stepId = null;

            /**
             * GatewayExecutorRequestData requestPayload.
             * @member {Uint8Array} requestPayload
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.requestPayload = $util.newBuffer([]);

            /**
             * GatewayExecutorRequestData systemTraceCtx.
             * @member {Uint8Array} systemTraceCtx
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.systemTraceCtx = $util.newBuffer([]);

            /**
             * GatewayExecutorRequestData userTraceCtx.
             * @member {Uint8Array} userTraceCtx
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.userTraceCtx = $util.newBuffer([]);

            /**
             * GatewayExecutorRequestData runId.
             * @member {string} runId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.runId = "";

            /**
             * GatewayExecutorRequestData leaseId.
             * @member {string} leaseId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.leaseId = "";

            /**
             * GatewayExecutorRequestData jobId.
             * @member {string} jobId
             * @memberof connect.v1.GatewayExecutorRequestData
             * @instance
             */
            GatewayExecutorRequestData.prototype.jobId = "";

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(GatewayExecutorRequestData.prototype, "_stepId", {
                get: $util.oneOfGetter($oneOfFields = ["stepId"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified GatewayExecutorRequestData message. Does not implicitly {@link connect.v1.GatewayExecutorRequestData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.GatewayExecutorRequestData
             * @static
             * @param {connect.v1.GatewayExecutorRequestData.$Properties} message GatewayExecutorRequestData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            GatewayExecutorRequestData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.accountId != null && $Object.hasOwnProperty.call(message, "accountId") && message.accountId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.accountId);
                if (message.envId != null && $Object.hasOwnProperty.call(message, "envId") && message.envId !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.envId);
                if (message.appId != null && $Object.hasOwnProperty.call(message, "appId") && message.appId !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.appId);
                if (message.appName != null && $Object.hasOwnProperty.call(message, "appName") && message.appName !== "")
                    writer.uint32(/* id 5, wireType 2 =*/42).string(message.appName);
                if (message.functionId != null && $Object.hasOwnProperty.call(message, "functionId") && message.functionId !== "")
                    writer.uint32(/* id 6, wireType 2 =*/50).string(message.functionId);
                if (message.functionSlug != null && $Object.hasOwnProperty.call(message, "functionSlug") && message.functionSlug !== "")
                    writer.uint32(/* id 7, wireType 2 =*/58).string(message.functionSlug);
                if (message.stepId != null && $Object.hasOwnProperty.call(message, "stepId"))
                    writer.uint32(/* id 8, wireType 2 =*/66).string(message.stepId);
                if (message.requestPayload != null && $Object.hasOwnProperty.call(message, "requestPayload") && message.requestPayload.length)
                    writer.uint32(/* id 9, wireType 2 =*/74).bytes(message.requestPayload);
                if (message.systemTraceCtx != null && $Object.hasOwnProperty.call(message, "systemTraceCtx") && message.systemTraceCtx.length)
                    writer.uint32(/* id 10, wireType 2 =*/82).bytes(message.systemTraceCtx);
                if (message.userTraceCtx != null && $Object.hasOwnProperty.call(message, "userTraceCtx") && message.userTraceCtx.length)
                    writer.uint32(/* id 11, wireType 2 =*/90).bytes(message.userTraceCtx);
                if (message.runId != null && $Object.hasOwnProperty.call(message, "runId") && message.runId !== "")
                    writer.uint32(/* id 12, wireType 2 =*/98).string(message.runId);
                if (message.leaseId != null && $Object.hasOwnProperty.call(message, "leaseId") && message.leaseId !== "")
                    writer.uint32(/* id 13, wireType 2 =*/106).string(message.leaseId);
                if (message.jobId != null && $Object.hasOwnProperty.call(message, "jobId") && message.jobId !== "")
                    writer.uint32(/* id 14, wireType 2 =*/114).string(message.jobId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a GatewayExecutorRequestData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.GatewayExecutorRequestData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.GatewayExecutorRequestData & connect.v1.GatewayExecutorRequestData.$Shape} GatewayExecutorRequestData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            GatewayExecutorRequestData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.GatewayExecutorRequestData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.accountId = value;
                            else
                                delete message.accountId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.envId = value;
                            else
                                delete message.envId;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.appId = value;
                            else
                                delete message.appId;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.appName = value;
                            else
                                delete message.appName;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.functionId = value;
                            else
                                delete message.functionId;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.functionSlug = value;
                            else
                                delete message.functionSlug;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.stepId = reader.stringVerify();
                            message._stepId = "stepId";
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.requestPayload = value;
                            else
                                delete message.requestPayload;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.systemTraceCtx = value;
                            else
                                delete message.systemTraceCtx;
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.userTraceCtx = value;
                            else
                                delete message.userTraceCtx;
                            continue;
                        }
                    case 12: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.runId = value;
                            else
                                delete message.runId;
                            continue;
                        }
                    case 13: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.leaseId = value;
                            else
                                delete message.leaseId;
                            continue;
                        }
                    case 14: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.jobId = value;
                            else
                                delete message.jobId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return GatewayExecutorRequestData;
        })();

        v1.WorkerRequestAckData = (function() {

            /**
             * Properties of a WorkerRequestAckData.
             * @typedef {Object} connect.v1.WorkerRequestAckData.$Properties
             * @property {string|null} [requestId] WorkerRequestAckData requestId
             * @property {string|null} [accountId] WorkerRequestAckData accountId
             * @property {string|null} [envId] WorkerRequestAckData envId
             * @property {string|null} [appId] WorkerRequestAckData appId
             * @property {string|null} [functionSlug] WorkerRequestAckData functionSlug
             * @property {string|null} [stepId] WorkerRequestAckData stepId
             * @property {Uint8Array|null} [systemTraceCtx] WorkerRequestAckData systemTraceCtx
             * @property {Uint8Array|null} [userTraceCtx] WorkerRequestAckData userTraceCtx
             * @property {string|null} [runId] WorkerRequestAckData runId
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerRequestAckData.
             * @memberof connect.v1
             * @interface IWorkerRequestAckData
             * @augments connect.v1.WorkerRequestAckData.$Properties
             * @deprecated Use connect.v1.WorkerRequestAckData.$Properties instead.
             */

            /**
             * Shape of a WorkerRequestAckData.
             * @typedef {connect.v1.WorkerRequestAckData.$Properties} connect.v1.WorkerRequestAckData.$Shape
             */

            /**
             * Constructs a new WorkerRequestAckData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerRequestAckData.
             * @constructor
             * @param {connect.v1.WorkerRequestAckData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerRequestAckData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerRequestAckData requestId.
             * @member {string} requestId
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.requestId = "";

            /**
             * WorkerRequestAckData accountId.
             * @member {string} accountId
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.accountId = "";

            /**
             * WorkerRequestAckData envId.
             * @member {string} envId
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.envId = "";

            /**
             * WorkerRequestAckData appId.
             * @member {string} appId
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.appId = "";

            /**
             * WorkerRequestAckData functionSlug.
             * @member {string} functionSlug
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.functionSlug = "";

            /**
             * WorkerRequestAckData stepId.
             * @member {string|null|undefined} stepId
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.stepId = null;

            /**
             * WorkerRequestAckData systemTraceCtx.
             * @member {Uint8Array} systemTraceCtx
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.systemTraceCtx = $util.newBuffer([]);

            /**
             * WorkerRequestAckData userTraceCtx.
             * @member {Uint8Array} userTraceCtx
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.userTraceCtx = $util.newBuffer([]);

            /**
             * WorkerRequestAckData runId.
             * @member {string} runId
             * @memberof connect.v1.WorkerRequestAckData
             * @instance
             */
            WorkerRequestAckData.prototype.runId = "";

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(WorkerRequestAckData.prototype, "_stepId", {
                get: $util.oneOfGetter($oneOfFields = ["stepId"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified WorkerRequestAckData message. Does not implicitly {@link connect.v1.WorkerRequestAckData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerRequestAckData
             * @static
             * @param {connect.v1.WorkerRequestAckData.$Properties} message WorkerRequestAckData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerRequestAckData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.accountId != null && $Object.hasOwnProperty.call(message, "accountId") && message.accountId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.accountId);
                if (message.envId != null && $Object.hasOwnProperty.call(message, "envId") && message.envId !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.envId);
                if (message.appId != null && $Object.hasOwnProperty.call(message, "appId") && message.appId !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.appId);
                if (message.functionSlug != null && $Object.hasOwnProperty.call(message, "functionSlug") && message.functionSlug !== "")
                    writer.uint32(/* id 5, wireType 2 =*/42).string(message.functionSlug);
                if (message.stepId != null && $Object.hasOwnProperty.call(message, "stepId"))
                    writer.uint32(/* id 6, wireType 2 =*/50).string(message.stepId);
                if (message.systemTraceCtx != null && $Object.hasOwnProperty.call(message, "systemTraceCtx") && message.systemTraceCtx.length)
                    writer.uint32(/* id 7, wireType 2 =*/58).bytes(message.systemTraceCtx);
                if (message.userTraceCtx != null && $Object.hasOwnProperty.call(message, "userTraceCtx") && message.userTraceCtx.length)
                    writer.uint32(/* id 8, wireType 2 =*/66).bytes(message.userTraceCtx);
                if (message.runId != null && $Object.hasOwnProperty.call(message, "runId") && message.runId !== "")
                    writer.uint32(/* id 9, wireType 2 =*/74).string(message.runId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerRequestAckData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerRequestAckData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerRequestAckData & connect.v1.WorkerRequestAckData.$Shape} WorkerRequestAckData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerRequestAckData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerRequestAckData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.accountId = value;
                            else
                                delete message.accountId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.envId = value;
                            else
                                delete message.envId;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.appId = value;
                            else
                                delete message.appId;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.functionSlug = value;
                            else
                                delete message.functionSlug;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.stepId = reader.stringVerify();
                            message._stepId = "stepId";
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.systemTraceCtx = value;
                            else
                                delete message.systemTraceCtx;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.userTraceCtx = value;
                            else
                                delete message.userTraceCtx;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.runId = value;
                            else
                                delete message.runId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerRequestAckData;
        })();

        v1.WorkerRequestExtendLeaseData = (function() {

            /**
             * Properties of a WorkerRequestExtendLeaseData.
             * @typedef {Object} connect.v1.WorkerRequestExtendLeaseData.$Properties
             * @property {string|null} [requestId] WorkerRequestExtendLeaseData requestId
             * @property {string|null} [accountId] WorkerRequestExtendLeaseData accountId
             * @property {string|null} [envId] WorkerRequestExtendLeaseData envId
             * @property {string|null} [appId] WorkerRequestExtendLeaseData appId
             * @property {string|null} [functionSlug] WorkerRequestExtendLeaseData functionSlug
             * @property {string|null} [stepId] WorkerRequestExtendLeaseData stepId
             * @property {Uint8Array|null} [systemTraceCtx] WorkerRequestExtendLeaseData systemTraceCtx
             * @property {Uint8Array|null} [userTraceCtx] WorkerRequestExtendLeaseData userTraceCtx
             * @property {string|null} [runId] WorkerRequestExtendLeaseData runId
             * @property {string|null} [leaseId] WorkerRequestExtendLeaseData leaseId
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerRequestExtendLeaseData.
             * @memberof connect.v1
             * @interface IWorkerRequestExtendLeaseData
             * @augments connect.v1.WorkerRequestExtendLeaseData.$Properties
             * @deprecated Use connect.v1.WorkerRequestExtendLeaseData.$Properties instead.
             */

            /**
             * Shape of a WorkerRequestExtendLeaseData.
             * @typedef {connect.v1.WorkerRequestExtendLeaseData.$Properties} connect.v1.WorkerRequestExtendLeaseData.$Shape
             */

            /**
             * Constructs a new WorkerRequestExtendLeaseData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerRequestExtendLeaseData.
             * @constructor
             * @param {connect.v1.WorkerRequestExtendLeaseData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerRequestExtendLeaseData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerRequestExtendLeaseData requestId.
             * @member {string} requestId
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.requestId = "";

            /**
             * WorkerRequestExtendLeaseData accountId.
             * @member {string} accountId
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.accountId = "";

            /**
             * WorkerRequestExtendLeaseData envId.
             * @member {string} envId
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.envId = "";

            /**
             * WorkerRequestExtendLeaseData appId.
             * @member {string} appId
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.appId = "";

            /**
             * WorkerRequestExtendLeaseData functionSlug.
             * @member {string} functionSlug
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.functionSlug = "";

            /**
             * WorkerRequestExtendLeaseData stepId.
             * @member {string|null|undefined} stepId
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.stepId = null;

            /**
             * WorkerRequestExtendLeaseData systemTraceCtx.
             * @member {Uint8Array} systemTraceCtx
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.systemTraceCtx = $util.newBuffer([]);

            /**
             * WorkerRequestExtendLeaseData userTraceCtx.
             * @member {Uint8Array} userTraceCtx
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.userTraceCtx = $util.newBuffer([]);

            /**
             * WorkerRequestExtendLeaseData runId.
             * @member {string} runId
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.runId = "";

            /**
             * WorkerRequestExtendLeaseData leaseId.
             * @member {string} leaseId
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @instance
             */
            WorkerRequestExtendLeaseData.prototype.leaseId = "";

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(WorkerRequestExtendLeaseData.prototype, "_stepId", {
                get: $util.oneOfGetter($oneOfFields = ["stepId"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified WorkerRequestExtendLeaseData message. Does not implicitly {@link connect.v1.WorkerRequestExtendLeaseData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @static
             * @param {connect.v1.WorkerRequestExtendLeaseData.$Properties} message WorkerRequestExtendLeaseData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerRequestExtendLeaseData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.accountId != null && $Object.hasOwnProperty.call(message, "accountId") && message.accountId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.accountId);
                if (message.envId != null && $Object.hasOwnProperty.call(message, "envId") && message.envId !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.envId);
                if (message.appId != null && $Object.hasOwnProperty.call(message, "appId") && message.appId !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.appId);
                if (message.functionSlug != null && $Object.hasOwnProperty.call(message, "functionSlug") && message.functionSlug !== "")
                    writer.uint32(/* id 5, wireType 2 =*/42).string(message.functionSlug);
                if (message.stepId != null && $Object.hasOwnProperty.call(message, "stepId"))
                    writer.uint32(/* id 6, wireType 2 =*/50).string(message.stepId);
                if (message.systemTraceCtx != null && $Object.hasOwnProperty.call(message, "systemTraceCtx") && message.systemTraceCtx.length)
                    writer.uint32(/* id 7, wireType 2 =*/58).bytes(message.systemTraceCtx);
                if (message.userTraceCtx != null && $Object.hasOwnProperty.call(message, "userTraceCtx") && message.userTraceCtx.length)
                    writer.uint32(/* id 8, wireType 2 =*/66).bytes(message.userTraceCtx);
                if (message.runId != null && $Object.hasOwnProperty.call(message, "runId") && message.runId !== "")
                    writer.uint32(/* id 9, wireType 2 =*/74).string(message.runId);
                if (message.leaseId != null && $Object.hasOwnProperty.call(message, "leaseId") && message.leaseId !== "")
                    writer.uint32(/* id 10, wireType 2 =*/82).string(message.leaseId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerRequestExtendLeaseData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerRequestExtendLeaseData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerRequestExtendLeaseData & connect.v1.WorkerRequestExtendLeaseData.$Shape} WorkerRequestExtendLeaseData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerRequestExtendLeaseData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerRequestExtendLeaseData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.accountId = value;
                            else
                                delete message.accountId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.envId = value;
                            else
                                delete message.envId;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.appId = value;
                            else
                                delete message.appId;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.functionSlug = value;
                            else
                                delete message.functionSlug;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.stepId = reader.stringVerify();
                            message._stepId = "stepId";
                            continue;
                        }
                    case 7: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.systemTraceCtx = value;
                            else
                                delete message.systemTraceCtx;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.userTraceCtx = value;
                            else
                                delete message.userTraceCtx;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.runId = value;
                            else
                                delete message.runId;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.leaseId = value;
                            else
                                delete message.leaseId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerRequestExtendLeaseData;
        })();

        v1.WorkerRequestExtendLeaseAckData = (function() {

            /**
             * Properties of a WorkerRequestExtendLeaseAckData.
             * @typedef {Object} connect.v1.WorkerRequestExtendLeaseAckData.$Properties
             * @property {string|null} [requestId] WorkerRequestExtendLeaseAckData requestId
             * @property {string|null} [accountId] WorkerRequestExtendLeaseAckData accountId
             * @property {string|null} [envId] WorkerRequestExtendLeaseAckData envId
             * @property {string|null} [appId] WorkerRequestExtendLeaseAckData appId
             * @property {string|null} [functionSlug] WorkerRequestExtendLeaseAckData functionSlug
             * @property {string|null} [newLeaseId] WorkerRequestExtendLeaseAckData newLeaseId
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerRequestExtendLeaseAckData.
             * @memberof connect.v1
             * @interface IWorkerRequestExtendLeaseAckData
             * @augments connect.v1.WorkerRequestExtendLeaseAckData.$Properties
             * @deprecated Use connect.v1.WorkerRequestExtendLeaseAckData.$Properties instead.
             */

            /**
             * Shape of a WorkerRequestExtendLeaseAckData.
             * @typedef {connect.v1.WorkerRequestExtendLeaseAckData.$Properties} connect.v1.WorkerRequestExtendLeaseAckData.$Shape
             */

            /**
             * Constructs a new WorkerRequestExtendLeaseAckData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerRequestExtendLeaseAckData.
             * @constructor
             * @param {connect.v1.WorkerRequestExtendLeaseAckData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerRequestExtendLeaseAckData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerRequestExtendLeaseAckData requestId.
             * @member {string} requestId
             * @memberof connect.v1.WorkerRequestExtendLeaseAckData
             * @instance
             */
            WorkerRequestExtendLeaseAckData.prototype.requestId = "";

            /**
             * WorkerRequestExtendLeaseAckData accountId.
             * @member {string} accountId
             * @memberof connect.v1.WorkerRequestExtendLeaseAckData
             * @instance
             */
            WorkerRequestExtendLeaseAckData.prototype.accountId = "";

            /**
             * WorkerRequestExtendLeaseAckData envId.
             * @member {string} envId
             * @memberof connect.v1.WorkerRequestExtendLeaseAckData
             * @instance
             */
            WorkerRequestExtendLeaseAckData.prototype.envId = "";

            /**
             * WorkerRequestExtendLeaseAckData appId.
             * @member {string} appId
             * @memberof connect.v1.WorkerRequestExtendLeaseAckData
             * @instance
             */
            WorkerRequestExtendLeaseAckData.prototype.appId = "";

            /**
             * WorkerRequestExtendLeaseAckData functionSlug.
             * @member {string} functionSlug
             * @memberof connect.v1.WorkerRequestExtendLeaseAckData
             * @instance
             */
            WorkerRequestExtendLeaseAckData.prototype.functionSlug = "";

            /**
             * WorkerRequestExtendLeaseAckData newLeaseId.
             * @member {string|null|undefined} newLeaseId
             * @memberof connect.v1.WorkerRequestExtendLeaseAckData
             * @instance
             */
            WorkerRequestExtendLeaseAckData.prototype.newLeaseId = null;

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(WorkerRequestExtendLeaseAckData.prototype, "_newLeaseId", {
                get: $util.oneOfGetter($oneOfFields = ["newLeaseId"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified WorkerRequestExtendLeaseAckData message. Does not implicitly {@link connect.v1.WorkerRequestExtendLeaseAckData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerRequestExtendLeaseAckData
             * @static
             * @param {connect.v1.WorkerRequestExtendLeaseAckData.$Properties} message WorkerRequestExtendLeaseAckData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerRequestExtendLeaseAckData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.accountId != null && $Object.hasOwnProperty.call(message, "accountId") && message.accountId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.accountId);
                if (message.envId != null && $Object.hasOwnProperty.call(message, "envId") && message.envId !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.envId);
                if (message.appId != null && $Object.hasOwnProperty.call(message, "appId") && message.appId !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.appId);
                if (message.functionSlug != null && $Object.hasOwnProperty.call(message, "functionSlug") && message.functionSlug !== "")
                    writer.uint32(/* id 5, wireType 2 =*/42).string(message.functionSlug);
                if (message.newLeaseId != null && $Object.hasOwnProperty.call(message, "newLeaseId"))
                    writer.uint32(/* id 6, wireType 2 =*/50).string(message.newLeaseId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerRequestExtendLeaseAckData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerRequestExtendLeaseAckData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerRequestExtendLeaseAckData & connect.v1.WorkerRequestExtendLeaseAckData.$Shape} WorkerRequestExtendLeaseAckData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerRequestExtendLeaseAckData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerRequestExtendLeaseAckData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.accountId = value;
                            else
                                delete message.accountId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.envId = value;
                            else
                                delete message.envId;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.appId = value;
                            else
                                delete message.appId;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.functionSlug = value;
                            else
                                delete message.functionSlug;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            message.newLeaseId = reader.stringVerify();
                            message._newLeaseId = "newLeaseId";
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerRequestExtendLeaseAckData;
        })();

        v1.SDKResponse = (function() {

            /**
             * Properties of a SDKResponse.
             * @typedef {Object} connect.v1.SDKResponse.$Properties
             * @property {string|null} [requestId] SDKResponse requestId
             * @property {string|null} [accountId] SDKResponse accountId
             * @property {string|null} [envId] SDKResponse envId
             * @property {string|null} [appId] SDKResponse appId
             * @property {connect.v1.SDKResponseStatus|null} [status] SDKResponse status
             * @property {Uint8Array|null} [body] SDKResponse body
             * @property {boolean|null} [noRetry] SDKResponse noRetry
             * @property {string|null} [retryAfter] SDKResponse retryAfter
             * @property {string|null} [sdkVersion] SDKResponse sdkVersion
             * @property {number|null} [requestVersion] SDKResponse requestVersion
             * @property {Uint8Array|null} [systemTraceCtx] SDKResponse systemTraceCtx
             * @property {Uint8Array|null} [userTraceCtx] SDKResponse userTraceCtx
             * @property {string|null} [runId] SDKResponse runId
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a SDKResponse.
             * @memberof connect.v1
             * @interface ISDKResponse
             * @augments connect.v1.SDKResponse.$Properties
             * @deprecated Use connect.v1.SDKResponse.$Properties instead.
             */

            /**
             * Shape of a SDKResponse.
             * @typedef {connect.v1.SDKResponse.$Properties} connect.v1.SDKResponse.$Shape
             */

            /**
             * Constructs a new SDKResponse.
             * @memberof connect.v1
             * @classdesc Represents a SDKResponse.
             * @constructor
             * @param {connect.v1.SDKResponse.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const SDKResponse = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * SDKResponse requestId.
             * @member {string} requestId
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.requestId = "";

            /**
             * SDKResponse accountId.
             * @member {string} accountId
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.accountId = "";

            /**
             * SDKResponse envId.
             * @member {string} envId
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.envId = "";

            /**
             * SDKResponse appId.
             * @member {string} appId
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.appId = "";

            /**
             * SDKResponse status.
             * @member {connect.v1.SDKResponseStatus} status
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.status = 0;

            /**
             * SDKResponse body.
             * @member {Uint8Array} body
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.body = $util.newBuffer([]);

            /**
             * SDKResponse noRetry.
             * @member {boolean} noRetry
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.noRetry = false;

            /**
             * SDKResponse retryAfter.
             * @member {string|null|undefined} retryAfter
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.retryAfter = null;

            /**
             * SDKResponse sdkVersion.
             * @member {string} sdkVersion
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.sdkVersion = "";

            /**
             * SDKResponse requestVersion.
             * @member {number} requestVersion
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.requestVersion = 0;

            /**
             * SDKResponse systemTraceCtx.
             * @member {Uint8Array} systemTraceCtx
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.systemTraceCtx = $util.newBuffer([]);

            /**
             * SDKResponse userTraceCtx.
             * @member {Uint8Array} userTraceCtx
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.userTraceCtx = $util.newBuffer([]);

            /**
             * SDKResponse runId.
             * @member {string} runId
             * @memberof connect.v1.SDKResponse
             * @instance
             */
            SDKResponse.prototype.runId = "";

            // OneOf field names bound to virtual getters and setters
            let $oneOfFields;

            // Virtual OneOf for proto3 optional field
            $Object.defineProperty(SDKResponse.prototype, "_retryAfter", {
                get: $util.oneOfGetter($oneOfFields = ["retryAfter"]),
                set: $util.oneOfSetter($oneOfFields)
            });

            /**
             * Encodes the specified SDKResponse message. Does not implicitly {@link connect.v1.SDKResponse.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.SDKResponse
             * @static
             * @param {connect.v1.SDKResponse.$Properties} message SDKResponse message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            SDKResponse.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.accountId != null && $Object.hasOwnProperty.call(message, "accountId") && message.accountId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.accountId);
                if (message.envId != null && $Object.hasOwnProperty.call(message, "envId") && message.envId !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.envId);
                if (message.appId != null && $Object.hasOwnProperty.call(message, "appId") && message.appId !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.appId);
                if (message.status != null && $Object.hasOwnProperty.call(message, "status") && message.status !== 0)
                    writer.uint32(/* id 5, wireType 0 =*/40).int32(message.status);
                if (message.body != null && $Object.hasOwnProperty.call(message, "body") && message.body.length)
                    writer.uint32(/* id 6, wireType 2 =*/50).bytes(message.body);
                if (message.noRetry != null && $Object.hasOwnProperty.call(message, "noRetry") && message.noRetry !== false)
                    writer.uint32(/* id 7, wireType 0 =*/56).bool(message.noRetry);
                if (message.retryAfter != null && $Object.hasOwnProperty.call(message, "retryAfter"))
                    writer.uint32(/* id 8, wireType 2 =*/66).string(message.retryAfter);
                if (message.sdkVersion != null && $Object.hasOwnProperty.call(message, "sdkVersion") && message.sdkVersion !== "")
                    writer.uint32(/* id 9, wireType 2 =*/74).string(message.sdkVersion);
                if (message.requestVersion != null && $Object.hasOwnProperty.call(message, "requestVersion") && message.requestVersion !== 0)
                    writer.uint32(/* id 10, wireType 0 =*/80).uint32(message.requestVersion);
                if (message.systemTraceCtx != null && $Object.hasOwnProperty.call(message, "systemTraceCtx") && message.systemTraceCtx.length)
                    writer.uint32(/* id 11, wireType 2 =*/90).bytes(message.systemTraceCtx);
                if (message.userTraceCtx != null && $Object.hasOwnProperty.call(message, "userTraceCtx") && message.userTraceCtx.length)
                    writer.uint32(/* id 12, wireType 2 =*/98).bytes(message.userTraceCtx);
                if (message.runId != null && $Object.hasOwnProperty.call(message, "runId") && message.runId !== "")
                    writer.uint32(/* id 13, wireType 2 =*/106).string(message.runId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a SDKResponse message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.SDKResponse
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.SDKResponse & connect.v1.SDKResponse.$Shape} SDKResponse
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            SDKResponse.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.SDKResponse();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.accountId = value;
                            else
                                delete message.accountId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.envId = value;
                            else
                                delete message.envId;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.appId = value;
                            else
                                delete message.appId;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.status = value;
                            else
                                delete message.status;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.body = value;
                            else
                                delete message.body;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.noRetry = value;
                            else
                                delete message.noRetry;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            message.retryAfter = reader.stringVerify();
                            message._retryAfter = "retryAfter";
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.sdkVersion = value;
                            else
                                delete message.sdkVersion;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.requestVersion = value;
                            else
                                delete message.requestVersion;
                            continue;
                        }
                    case 11: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.systemTraceCtx = value;
                            else
                                delete message.systemTraceCtx;
                            continue;
                        }
                    case 12: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.userTraceCtx = value;
                            else
                                delete message.userTraceCtx;
                            continue;
                        }
                    case 13: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.runId = value;
                            else
                                delete message.runId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return SDKResponse;
        })();

        v1.WorkerReplyAckData = (function() {

            /**
             * Properties of a WorkerReplyAckData.
             * @typedef {Object} connect.v1.WorkerReplyAckData.$Properties
             * @property {string|null} [requestId] WorkerReplyAckData requestId
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerReplyAckData.
             * @memberof connect.v1
             * @interface IWorkerReplyAckData
             * @augments connect.v1.WorkerReplyAckData.$Properties
             * @deprecated Use connect.v1.WorkerReplyAckData.$Properties instead.
             */

            /**
             * Shape of a WorkerReplyAckData.
             * @typedef {connect.v1.WorkerReplyAckData.$Properties} connect.v1.WorkerReplyAckData.$Shape
             */

            /**
             * Constructs a new WorkerReplyAckData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerReplyAckData.
             * @constructor
             * @param {connect.v1.WorkerReplyAckData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerReplyAckData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerReplyAckData requestId.
             * @member {string} requestId
             * @memberof connect.v1.WorkerReplyAckData
             * @instance
             */
            WorkerReplyAckData.prototype.requestId = "";

            /**
             * Encodes the specified WorkerReplyAckData message. Does not implicitly {@link connect.v1.WorkerReplyAckData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerReplyAckData
             * @static
             * @param {connect.v1.WorkerReplyAckData.$Properties} message WorkerReplyAckData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerReplyAckData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerReplyAckData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerReplyAckData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerReplyAckData & connect.v1.WorkerReplyAckData.$Shape} WorkerReplyAckData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerReplyAckData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerReplyAckData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerReplyAckData;
        })();

        v1.WorkerStatusData = (function() {

            /**
             * Properties of a WorkerStatusData.
             * @typedef {Object} connect.v1.WorkerStatusData.$Properties
             * @property {Array.<string>|null} [inFlightRequestIds] WorkerStatusData inFlightRequestIds
             * @property {boolean|null} [shutdownRequested] WorkerStatusData shutdownRequested
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerStatusData.
             * @memberof connect.v1
             * @interface IWorkerStatusData
             * @augments connect.v1.WorkerStatusData.$Properties
             * @deprecated Use connect.v1.WorkerStatusData.$Properties instead.
             */

            /**
             * Shape of a WorkerStatusData.
             * @typedef {connect.v1.WorkerStatusData.$Properties} connect.v1.WorkerStatusData.$Shape
             */

            /**
             * Constructs a new WorkerStatusData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerStatusData.
             * @constructor
             * @param {connect.v1.WorkerStatusData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerStatusData = function (properties) {
                this.inFlightRequestIds = [];
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerStatusData inFlightRequestIds.
             * @member {Array.<string>} inFlightRequestIds
             * @memberof connect.v1.WorkerStatusData
             * @instance
             */
            WorkerStatusData.prototype.inFlightRequestIds = $util.emptyArray;

            /**
             * WorkerStatusData shutdownRequested.
             * @member {boolean} shutdownRequested
             * @memberof connect.v1.WorkerStatusData
             * @instance
             */
            WorkerStatusData.prototype.shutdownRequested = false;

            /**
             * Encodes the specified WorkerStatusData message. Does not implicitly {@link connect.v1.WorkerStatusData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerStatusData
             * @static
             * @param {connect.v1.WorkerStatusData.$Properties} message WorkerStatusData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerStatusData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.inFlightRequestIds != null && message.inFlightRequestIds.length)
                    for (let i = 0; i < message.inFlightRequestIds.length; ++i)
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.inFlightRequestIds[i]);
                if (message.shutdownRequested != null && $Object.hasOwnProperty.call(message, "shutdownRequested") && message.shutdownRequested !== false)
                    writer.uint32(/* id 2, wireType 0 =*/16).bool(message.shutdownRequested);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerStatusData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerStatusData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerStatusData & connect.v1.WorkerStatusData.$Shape} WorkerStatusData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerStatusData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerStatusData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if (!(message.inFlightRequestIds && message.inFlightRequestIds.length))
                                message.inFlightRequestIds = [];
                            message.inFlightRequestIds.push(reader.stringVerify());
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.shutdownRequested = value;
                            else
                                delete message.shutdownRequested;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerStatusData;
        })();

        v1.WorkerCheckpointData = (function() {

            /**
             * Properties of a WorkerCheckpointData.
             * @typedef {Object} connect.v1.WorkerCheckpointData.$Properties
             * @property {string|null} [requestId] WorkerCheckpointData requestId
             * @property {string|null} [runId] WorkerCheckpointData runId
             * @property {string|null} [leaseId] WorkerCheckpointData leaseId
             * @property {number|null} [sequence] WorkerCheckpointData sequence
             * @property {Uint8Array|null} [ops] WorkerCheckpointData ops
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerCheckpointData.
             * @memberof connect.v1
             * @interface IWorkerCheckpointData
             * @augments connect.v1.WorkerCheckpointData.$Properties
             * @deprecated Use connect.v1.WorkerCheckpointData.$Properties instead.
             */

            /**
             * Shape of a WorkerCheckpointData.
             * @typedef {connect.v1.WorkerCheckpointData.$Properties} connect.v1.WorkerCheckpointData.$Shape
             */

            /**
             * Constructs a new WorkerCheckpointData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerCheckpointData.
             * @constructor
             * @param {connect.v1.WorkerCheckpointData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerCheckpointData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerCheckpointData requestId.
             * @member {string} requestId
             * @memberof connect.v1.WorkerCheckpointData
             * @instance
             */
            WorkerCheckpointData.prototype.requestId = "";

            /**
             * WorkerCheckpointData runId.
             * @member {string} runId
             * @memberof connect.v1.WorkerCheckpointData
             * @instance
             */
            WorkerCheckpointData.prototype.runId = "";

            /**
             * WorkerCheckpointData leaseId.
             * @member {string} leaseId
             * @memberof connect.v1.WorkerCheckpointData
             * @instance
             */
            WorkerCheckpointData.prototype.leaseId = "";

            /**
             * WorkerCheckpointData sequence.
             * @member {number} sequence
             * @memberof connect.v1.WorkerCheckpointData
             * @instance
             */
            WorkerCheckpointData.prototype.sequence = 0;

            /**
             * WorkerCheckpointData ops.
             * @member {Uint8Array} ops
             * @memberof connect.v1.WorkerCheckpointData
             * @instance
             */
            WorkerCheckpointData.prototype.ops = $util.newBuffer([]);

            /**
             * Encodes the specified WorkerCheckpointData message. Does not implicitly {@link connect.v1.WorkerCheckpointData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerCheckpointData
             * @static
             * @param {connect.v1.WorkerCheckpointData.$Properties} message WorkerCheckpointData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerCheckpointData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.runId != null && $Object.hasOwnProperty.call(message, "runId") && message.runId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.runId);
                if (message.leaseId != null && $Object.hasOwnProperty.call(message, "leaseId") && message.leaseId !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.leaseId);
                if (message.sequence != null && $Object.hasOwnProperty.call(message, "sequence") && message.sequence !== 0)
                    writer.uint32(/* id 4, wireType 0 =*/32).uint32(message.sequence);
                if (message.ops != null && $Object.hasOwnProperty.call(message, "ops") && message.ops.length)
                    writer.uint32(/* id 5, wireType 2 =*/42).bytes(message.ops);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerCheckpointData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerCheckpointData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerCheckpointData & connect.v1.WorkerCheckpointData.$Shape} WorkerCheckpointData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerCheckpointData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerCheckpointData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.runId = value;
                            else
                                delete message.runId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.leaseId = value;
                            else
                                delete message.leaseId;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.sequence = value;
                            else
                                delete message.sequence;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.bytes()).length)
                                message.ops = value;
                            else
                                delete message.ops;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerCheckpointData;
        })();

        /**
         * CheckpointOutcome enum.
         * @name connect.v1.CheckpointOutcome
         * @enum {number}
         * @property {number} CHECKPOINT_OUTCOME_UNSPECIFIED=0 CHECKPOINT_OUTCOME_UNSPECIFIED value
         * @property {number} CHECKPOINT_OUTCOME_STORED=1 CHECKPOINT_OUTCOME_STORED value
         * @property {number} CHECKPOINT_OUTCOME_STALE=2 CHECKPOINT_OUTCOME_STALE value
         * @property {number} CHECKPOINT_OUTCOME_INVALID=3 CHECKPOINT_OUTCOME_INVALID value
         */
        v1.CheckpointOutcome = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "CHECKPOINT_OUTCOME_UNSPECIFIED"] = 0;
            values[valuesById[1] = "CHECKPOINT_OUTCOME_STORED"] = 1;
            values[valuesById[2] = "CHECKPOINT_OUTCOME_STALE"] = 2;
            values[valuesById[3] = "CHECKPOINT_OUTCOME_INVALID"] = 3;
            return values;
        })();

        v1.GatewayCheckpointAckData = (function() {

            /**
             * Properties of a GatewayCheckpointAckData.
             * @typedef {Object} connect.v1.GatewayCheckpointAckData.$Properties
             * @property {string|null} [requestId] GatewayCheckpointAckData requestId
             * @property {number|null} [sequence] GatewayCheckpointAckData sequence
             * @property {connect.v1.CheckpointOutcome|null} [outcome] GatewayCheckpointAckData outcome
             * @property {string|null} [message] GatewayCheckpointAckData message
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a GatewayCheckpointAckData.
             * @memberof connect.v1
             * @interface IGatewayCheckpointAckData
             * @augments connect.v1.GatewayCheckpointAckData.$Properties
             * @deprecated Use connect.v1.GatewayCheckpointAckData.$Properties instead.
             */

            /**
             * Shape of a GatewayCheckpointAckData.
             * @typedef {connect.v1.GatewayCheckpointAckData.$Properties} connect.v1.GatewayCheckpointAckData.$Shape
             */

            /**
             * Constructs a new GatewayCheckpointAckData.
             * @memberof connect.v1
             * @classdesc Represents a GatewayCheckpointAckData.
             * @constructor
             * @param {connect.v1.GatewayCheckpointAckData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const GatewayCheckpointAckData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * GatewayCheckpointAckData requestId.
             * @member {string} requestId
             * @memberof connect.v1.GatewayCheckpointAckData
             * @instance
             */
            GatewayCheckpointAckData.prototype.requestId = "";

            /**
             * GatewayCheckpointAckData sequence.
             * @member {number} sequence
             * @memberof connect.v1.GatewayCheckpointAckData
             * @instance
             */
            GatewayCheckpointAckData.prototype.sequence = 0;

            /**
             * GatewayCheckpointAckData outcome.
             * @member {connect.v1.CheckpointOutcome} outcome
             * @memberof connect.v1.GatewayCheckpointAckData
             * @instance
             */
            GatewayCheckpointAckData.prototype.outcome = 0;

            /**
             * GatewayCheckpointAckData message.
             * @member {string} message
             * @memberof connect.v1.GatewayCheckpointAckData
             * @instance
             */
            GatewayCheckpointAckData.prototype.message = "";

            /**
             * Encodes the specified GatewayCheckpointAckData message. Does not implicitly {@link connect.v1.GatewayCheckpointAckData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.GatewayCheckpointAckData
             * @static
             * @param {connect.v1.GatewayCheckpointAckData.$Properties} message GatewayCheckpointAckData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            GatewayCheckpointAckData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.sequence != null && $Object.hasOwnProperty.call(message, "sequence") && message.sequence !== 0)
                    writer.uint32(/* id 2, wireType 0 =*/16).uint32(message.sequence);
                if (message.outcome != null && $Object.hasOwnProperty.call(message, "outcome") && message.outcome !== 0)
                    writer.uint32(/* id 3, wireType 0 =*/24).int32(message.outcome);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.message);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a GatewayCheckpointAckData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.GatewayCheckpointAckData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.GatewayCheckpointAckData & connect.v1.GatewayCheckpointAckData.$Shape} GatewayCheckpointAckData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            GatewayCheckpointAckData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.GatewayCheckpointAckData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.sequence = value;
                            else
                                delete message.sequence;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.outcome = value;
                            else
                                delete message.outcome;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return GatewayCheckpointAckData;
        })();

        /**
         * NackReason enum.
         * @name connect.v1.NackReason
         * @enum {number}
         * @property {number} NACK_REASON_UNSPECIFIED=0 NACK_REASON_UNSPECIFIED value
         * @property {number} NACK_REASON_UNKNOWN_APP=1 NACK_REASON_UNKNOWN_APP value
         * @property {number} NACK_REASON_UNKNOWN_FUNCTION=2 NACK_REASON_UNKNOWN_FUNCTION value
         * @property {number} NACK_REASON_SHUTTING_DOWN=3 NACK_REASON_SHUTTING_DOWN value
         * @property {number} NACK_REASON_AT_CAPACITY=4 NACK_REASON_AT_CAPACITY value
         * @property {number} NACK_REASON_MALFORMED=5 NACK_REASON_MALFORMED value
         * @property {number} NACK_REASON_DRAIN_TIMEOUT=6 NACK_REASON_DRAIN_TIMEOUT value
         * @property {number} NACK_REASON_STALLED=7 NACK_REASON_STALLED value
         */
        v1.NackReason = (function() {
            const valuesById = $Object.create(null), values = $Object.create(valuesById);
            values[valuesById[0] = "NACK_REASON_UNSPECIFIED"] = 0;
            values[valuesById[1] = "NACK_REASON_UNKNOWN_APP"] = 1;
            values[valuesById[2] = "NACK_REASON_UNKNOWN_FUNCTION"] = 2;
            values[valuesById[3] = "NACK_REASON_SHUTTING_DOWN"] = 3;
            values[valuesById[4] = "NACK_REASON_AT_CAPACITY"] = 4;
            values[valuesById[5] = "NACK_REASON_MALFORMED"] = 5;
            values[valuesById[6] = "NACK_REASON_DRAIN_TIMEOUT"] = 6;
            values[valuesById[7] = "NACK_REASON_STALLED"] = 7;
            return values;
        })();

        v1.WorkerRequestNackData = (function() {

            /**
             * Properties of a WorkerRequestNackData.
             * @typedef {Object} connect.v1.WorkerRequestNackData.$Properties
             * @property {string|null} [requestId] WorkerRequestNackData requestId
             * @property {string|null} [runId] WorkerRequestNackData runId
             * @property {string|null} [leaseId] WorkerRequestNackData leaseId
             * @property {connect.v1.NackReason|null} [reason] WorkerRequestNackData reason
             * @property {string|null} [message] WorkerRequestNackData message
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerRequestNackData.
             * @memberof connect.v1
             * @interface IWorkerRequestNackData
             * @augments connect.v1.WorkerRequestNackData.$Properties
             * @deprecated Use connect.v1.WorkerRequestNackData.$Properties instead.
             */

            /**
             * Shape of a WorkerRequestNackData.
             * @typedef {connect.v1.WorkerRequestNackData.$Properties} connect.v1.WorkerRequestNackData.$Shape
             */

            /**
             * Constructs a new WorkerRequestNackData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerRequestNackData.
             * @constructor
             * @param {connect.v1.WorkerRequestNackData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerRequestNackData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerRequestNackData requestId.
             * @member {string} requestId
             * @memberof connect.v1.WorkerRequestNackData
             * @instance
             */
            WorkerRequestNackData.prototype.requestId = "";

            /**
             * WorkerRequestNackData runId.
             * @member {string} runId
             * @memberof connect.v1.WorkerRequestNackData
             * @instance
             */
            WorkerRequestNackData.prototype.runId = "";

            /**
             * WorkerRequestNackData leaseId.
             * @member {string} leaseId
             * @memberof connect.v1.WorkerRequestNackData
             * @instance
             */
            WorkerRequestNackData.prototype.leaseId = "";

            /**
             * WorkerRequestNackData reason.
             * @member {connect.v1.NackReason} reason
             * @memberof connect.v1.WorkerRequestNackData
             * @instance
             */
            WorkerRequestNackData.prototype.reason = 0;

            /**
             * WorkerRequestNackData message.
             * @member {string} message
             * @memberof connect.v1.WorkerRequestNackData
             * @instance
             */
            WorkerRequestNackData.prototype.message = "";

            /**
             * Encodes the specified WorkerRequestNackData message. Does not implicitly {@link connect.v1.WorkerRequestNackData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerRequestNackData
             * @static
             * @param {connect.v1.WorkerRequestNackData.$Properties} message WorkerRequestNackData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerRequestNackData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.runId != null && $Object.hasOwnProperty.call(message, "runId") && message.runId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.runId);
                if (message.leaseId != null && $Object.hasOwnProperty.call(message, "leaseId") && message.leaseId !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.leaseId);
                if (message.reason != null && $Object.hasOwnProperty.call(message, "reason") && message.reason !== 0)
                    writer.uint32(/* id 4, wireType 0 =*/32).int32(message.reason);
                if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                    writer.uint32(/* id 5, wireType 2 =*/42).string(message.message);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerRequestNackData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerRequestNackData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerRequestNackData & connect.v1.WorkerRequestNackData.$Shape} WorkerRequestNackData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerRequestNackData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerRequestNackData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.runId = value;
                            else
                                delete message.runId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.leaseId = value;
                            else
                                delete message.leaseId;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.reason = value;
                            else
                                delete message.reason;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.message = value;
                            else
                                delete message.message;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerRequestNackData;
        })();

        v1.GatewayCancelData = (function() {

            /**
             * Properties of a GatewayCancelData.
             * @typedef {Object} connect.v1.GatewayCancelData.$Properties
             * @property {string|null} [requestId] GatewayCancelData requestId
             * @property {string|null} [reason] GatewayCancelData reason
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a GatewayCancelData.
             * @memberof connect.v1
             * @interface IGatewayCancelData
             * @augments connect.v1.GatewayCancelData.$Properties
             * @deprecated Use connect.v1.GatewayCancelData.$Properties instead.
             */

            /**
             * Shape of a GatewayCancelData.
             * @typedef {connect.v1.GatewayCancelData.$Properties} connect.v1.GatewayCancelData.$Shape
             */

            /**
             * Constructs a new GatewayCancelData.
             * @memberof connect.v1
             * @classdesc Represents a GatewayCancelData.
             * @constructor
             * @param {connect.v1.GatewayCancelData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const GatewayCancelData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * GatewayCancelData requestId.
             * @member {string} requestId
             * @memberof connect.v1.GatewayCancelData
             * @instance
             */
            GatewayCancelData.prototype.requestId = "";

            /**
             * GatewayCancelData reason.
             * @member {string} reason
             * @memberof connect.v1.GatewayCancelData
             * @instance
             */
            GatewayCancelData.prototype.reason = "";

            /**
             * Encodes the specified GatewayCancelData message. Does not implicitly {@link connect.v1.GatewayCancelData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.GatewayCancelData
             * @static
             * @param {connect.v1.GatewayCancelData.$Properties} message GatewayCancelData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            GatewayCancelData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.reason != null && $Object.hasOwnProperty.call(message, "reason") && message.reason !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.reason);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a GatewayCancelData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.GatewayCancelData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.GatewayCancelData & connect.v1.GatewayCancelData.$Shape} GatewayCancelData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            GatewayCancelData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.GatewayCancelData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.reason = value;
                            else
                                delete message.reason;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return GatewayCancelData;
        })();

        v1.WorkerStallData = (function() {

            /**
             * Properties of a WorkerStallData.
             * @typedef {Object} connect.v1.WorkerStallData.$Properties
             * @property {string|null} [requestId] WorkerStallData requestId
             * @property {string|null} [runId] WorkerStallData runId
             * @property {string|null} [functionSlug] WorkerStallData functionSlug
             * @property {string|null} [stepId] WorkerStallData stepId
             * @property {number|null} [stalledMs] WorkerStallData stalledMs
             * @property {string|null} [stack] WorkerStallData stack
             * @property {boolean|null} [ended] WorkerStallData ended
             * @property {string|null} [location] WorkerStallData location
             * @property {string|null} [codeName] WorkerStallData codeName
             * @property {number|null} [sequence] WorkerStallData sequence
             * @property {number|null} [suppressed] WorkerStallData suppressed
             * @property {number|null} [waiting] WorkerStallData waiting
             * @property {boolean|null} [leasesGivenUp] WorkerStallData leasesGivenUp
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */

            /**
             * Properties of a WorkerStallData.
             * @memberof connect.v1
             * @interface IWorkerStallData
             * @augments connect.v1.WorkerStallData.$Properties
             * @deprecated Use connect.v1.WorkerStallData.$Properties instead.
             */

            /**
             * Shape of a WorkerStallData.
             * @typedef {connect.v1.WorkerStallData.$Properties} connect.v1.WorkerStallData.$Shape
             */

            /**
             * Constructs a new WorkerStallData.
             * @memberof connect.v1
             * @classdesc Represents a WorkerStallData.
             * @constructor
             * @param {connect.v1.WorkerStallData.$Properties=} [properties] Properties to set
             * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
             */
            const WorkerStallData = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            /**
             * WorkerStallData requestId.
             * @member {string} requestId
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.requestId = "";

            /**
             * WorkerStallData runId.
             * @member {string} runId
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.runId = "";

            /**
             * WorkerStallData functionSlug.
             * @member {string} functionSlug
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.functionSlug = "";

            /**
             * WorkerStallData stepId.
             * @member {string} stepId
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.stepId = "";

            /**
             * WorkerStallData stalledMs.
             * @member {number} stalledMs
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.stalledMs = 0;

            /**
             * WorkerStallData stack.
             * @member {string} stack
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.stack = "";

            /**
             * WorkerStallData ended.
             * @member {boolean} ended
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.ended = false;

            /**
             * WorkerStallData location.
             * @member {string} location
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.location = "";

            /**
             * WorkerStallData codeName.
             * @member {string} codeName
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.codeName = "";

            /**
             * WorkerStallData sequence.
             * @member {number} sequence
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.sequence = 0;

            /**
             * WorkerStallData suppressed.
             * @member {number} suppressed
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.suppressed = 0;

            /**
             * WorkerStallData waiting.
             * @member {number} waiting
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.waiting = 0;

            /**
             * WorkerStallData leasesGivenUp.
             * @member {boolean} leasesGivenUp
             * @memberof connect.v1.WorkerStallData
             * @instance
             */
            WorkerStallData.prototype.leasesGivenUp = false;

            /**
             * Encodes the specified WorkerStallData message. Does not implicitly {@link connect.v1.WorkerStallData.verify|verify} messages.
             * @function encode
             * @memberof connect.v1.WorkerStallData
             * @static
             * @param {connect.v1.WorkerStallData.$Properties} message WorkerStallData message or plain object to encode
             * @param {$protobuf.Writer} [writer] Writer to encode to
             * @returns {$protobuf.Writer} Writer
             */
            WorkerStallData.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.requestId != null && $Object.hasOwnProperty.call(message, "requestId") && message.requestId !== "")
                    writer.uint32(/* id 1, wireType 2 =*/10).string(message.requestId);
                if (message.runId != null && $Object.hasOwnProperty.call(message, "runId") && message.runId !== "")
                    writer.uint32(/* id 2, wireType 2 =*/18).string(message.runId);
                if (message.functionSlug != null && $Object.hasOwnProperty.call(message, "functionSlug") && message.functionSlug !== "")
                    writer.uint32(/* id 3, wireType 2 =*/26).string(message.functionSlug);
                if (message.stepId != null && $Object.hasOwnProperty.call(message, "stepId") && message.stepId !== "")
                    writer.uint32(/* id 4, wireType 2 =*/34).string(message.stepId);
                if (message.stalledMs != null && $Object.hasOwnProperty.call(message, "stalledMs") && message.stalledMs !== 0)
                    writer.uint32(/* id 5, wireType 0 =*/40).uint32(message.stalledMs);
                if (message.stack != null && $Object.hasOwnProperty.call(message, "stack") && message.stack !== "")
                    writer.uint32(/* id 6, wireType 2 =*/50).string(message.stack);
                if (message.ended != null && $Object.hasOwnProperty.call(message, "ended") && message.ended !== false)
                    writer.uint32(/* id 7, wireType 0 =*/56).bool(message.ended);
                if (message.location != null && $Object.hasOwnProperty.call(message, "location") && message.location !== "")
                    writer.uint32(/* id 8, wireType 2 =*/66).string(message.location);
                if (message.codeName != null && $Object.hasOwnProperty.call(message, "codeName") && message.codeName !== "")
                    writer.uint32(/* id 9, wireType 2 =*/74).string(message.codeName);
                if (message.sequence != null && $Object.hasOwnProperty.call(message, "sequence") && message.sequence !== 0)
                    writer.uint32(/* id 10, wireType 0 =*/80).uint32(message.sequence);
                if (message.suppressed != null && $Object.hasOwnProperty.call(message, "suppressed") && message.suppressed !== 0)
                    writer.uint32(/* id 11, wireType 0 =*/88).uint32(message.suppressed);
                if (message.waiting != null && $Object.hasOwnProperty.call(message, "waiting") && message.waiting !== 0)
                    writer.uint32(/* id 12, wireType 0 =*/96).uint32(message.waiting);
                if (message.leasesGivenUp != null && $Object.hasOwnProperty.call(message, "leasesGivenUp") && message.leasesGivenUp !== false)
                    writer.uint32(/* id 13, wireType 0 =*/104).bool(message.leasesGivenUp);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            /**
             * Decodes a WorkerStallData message from the specified reader or buffer.
             * @function decode
             * @memberof connect.v1.WorkerStallData
             * @static
             * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
             * @param {number} [length] Message length if known beforehand
             * @returns {connect.v1.WorkerStallData & connect.v1.WorkerStallData.$Shape} WorkerStallData
             * @throws {Error} If the payload is not a reader or valid buffer
             * @throws {$protobuf.util.ProtocolError} If required fields are missing
             */
            WorkerStallData.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.connect.v1.WorkerStallData();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.requestId = value;
                            else
                                delete message.requestId;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.runId = value;
                            else
                                delete message.runId;
                            continue;
                        }
                    case 3: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.functionSlug = value;
                            else
                                delete message.functionSlug;
                            continue;
                        }
                    case 4: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.stepId = value;
                            else
                                delete message.stepId;
                            continue;
                        }
                    case 5: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.stalledMs = value;
                            else
                                delete message.stalledMs;
                            continue;
                        }
                    case 6: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.stack = value;
                            else
                                delete message.stack;
                            continue;
                        }
                    case 7: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.ended = value;
                            else
                                delete message.ended;
                            continue;
                        }
                    case 8: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.location = value;
                            else
                                delete message.location;
                            continue;
                        }
                    case 9: {
                            if (wireType !== 2)
                                break;
                            if ((value = reader.stringVerify()).length)
                                message.codeName = value;
                            else
                                delete message.codeName;
                            continue;
                        }
                    case 10: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.sequence = value;
                            else
                                delete message.sequence;
                            continue;
                        }
                    case 11: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.suppressed = value;
                            else
                                delete message.suppressed;
                            continue;
                        }
                    case 12: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.uint32())
                                message.waiting = value;
                            else
                                delete message.waiting;
                            continue;
                        }
                    case 13: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.bool())
                                message.leasesGivenUp = value;
                            else
                                delete message.leasesGivenUp;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return WorkerStallData;
        })();

        return v1;
    })();

    return connect;
})();

export {
  $root as default
};
