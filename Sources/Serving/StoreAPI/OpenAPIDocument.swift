// Written by Scripts/openapi from Documentation/openapi.json.

/// The description of the API (OpenAPI 3.1).
package enum OpenAPIDocument {
  /// The document as JSON, without white space.
  package static let bytes = Array((start + end).utf8)

  private static let start =
    #"""
    {"openapi":"3.1.0","info":{"title":"Store server","version":"1","license":{"name":"Apache L\#
    icense 2.0","identifier":"Apache-2.0"},"description":"Purchases, entitlements, events and c\#
    ontent grants of a store. Bodies are JSON in UTF-8, at most 64 KiB, of a purchase or change\#
     16 KiB; the head of a request has at most 7 KiB. Unknown members and repeated parameters a\#
    re refused; null is the same as a missing member. Times are RFC 3339. Errors are problem de\#
    tails (RFC 9457). Texts are limited in bytes of UTF-8; the patterns accept fewer characters\#
     if some are not ASCII. A path answers GET also for HEAD, except /v1/events. A request that\#
     is not HTTP/1.0 or HTTP/1.1 gets 505."},"servers":[{"url":"/"}],"security":[{"bearer":[]}]\#
    ,"tags":[{"name":"products","description":"What the store offers"},{"name":"purchases","des\#
    cription":"Buying, finishing and changing purchases"},{"name":"accounts","description":"The\#
     purchases of an account"},{"name":"events","description":"Changes, in commit order"},{"nam\#
    e":"content","description":"URLs of packages"},{"name":"server","description":"State and de\#
    scription of the server"}],"paths":{"/v1/products":{"get":{"operationId":"listProducts","ta\#
    gs":["products"],"summary":"Look up products","description":"Without id, returns all produc\#
    ts in pages of up to 200, in no particular order of pages; the header Link names the next p\#
    age. Without ETag if a product cannot be read now. Scope: read or purchase.","parameters":[\#
    {"name":"id","in":"query","description":"A product identifier; may be repeated. Invalid and\#
     unknown ones are in `invalid`.","schema":{"type":"array","maxItems":200,"items":{"type":"s\#
    tring"}},"style":"form","explode":true},{"name":"cursor","in":"query","description":"From t\#
    he header Link; ignored with id.","schema":{"$ref":"#/components/schemas/Identifier"}},{"$r\#
    ef":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The products\#
     of the page, or those with the given identifiers.","headers":{"ETag":{"$ref":"#/components\#
    /headers/ETag"},"Link":{"$ref":"#/components/headers/Link"}},"content":{"application/json":\#
    {"schema":{"$ref":"#/components/schemas/Products"}}}},"304":{"description":"The catalog is \#
    the same as that of If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}\#
    },"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/\#
    Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#/component\#
    s/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$re\#
    f":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLon\#
    g"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/No\#
    tImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases":{"pos\#
    t":{"operationId":"purchase","tags":["purchases"],"summary":"Buy a product","description":"\#
    The key identifies the purchase forever: repeat an interrupted request with the same key an\#
    d the same body. 404: the product is not offered. 409: the same request is being processed.\#
     Scope: purchase.","parameters":[{"name":"Idempotency-Key","in":"header","required":true,"d\#
    escription":"The identifier of the transaction.","schema":{"$ref":"#/components/schemas/Tra\#
    nsaction"}}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref"\#
    :"#/components/schemas/NewPurchase"}}}},"responses":{"200":{"description":"The same request\#
     was made before: its purchase as it is now.","headers":{"Idempotent-Replayed":{"required":\#
    true,"schema":{"type":"string","const":"true"}}},"content":{"application/json":{"schema":{"\#
    $ref":"#/components/schemas/Purchase"}}}},"201":{"description":"A new purchase in the state\#
     purchased, deferred or failed. It is durable.","content":{"application/json":{"schema":{"$\#
    ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"}\#
    ,"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses\#
    /Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/components/r\#
    esponses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":\#
    "#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"4\#
    15":{"$ref":"#/components/responses/UnsupportedType"},"422":{"$ref":"#/components/responses\#
    /OtherRequest"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/compon\#
    ents/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref\#
    ":"#/components/responses/Unavailable"}}}},"/v1/purchases:batch":{"post":{"operationId":"pu\#
    rchaseBatch","tags":["purchases"],"summary":"Buy several products in one commit","descripti\#
    on":"Scope: purchase.","requestBody":{"required":true,"content":{"application/json":{"schem\#
    a":{"$ref":"#/components/schemas/Batch"}}}},"responses":{"200":{"description":"One result f\#
    or each purchase, in the same order.","content":{"application/json":{"schema":{"$ref":"#/co\#
    mponents/schemas/BatchResults"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401"\#
    :{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbi\#
    dden"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components\#
    /responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"415":{"$ref":"\#
    #/components/responses/UnsupportedType"},"431":{"$ref":"#/components/responses/HeadTooLong"\#
    },"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotI\#
    mplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{transac\#
    tion}":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"get":{"operationId":\#
    "readPurchase","tags":["purchases"],"summary":"Read a purchase","description":"Scope: read \#
    or purchase.","responses":{"200":{"description":"The purchase.","content":{"application/jso\#
    n":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/respon\#
    ses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/comp\#
    onents/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref"\#
    :"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"\#
    },"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/respons\#
    es/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components\#
    /responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/pur\#
    chases/{transaction}/finish":{"parameters":[{"$ref":"#/components/parameters/Transaction"}]\#
    ,"post":{"operationId":"finishPurchase","tags":["purchases"],"summary":"Finish a purchase",\#
    "description":"409: it is deferred or failed. Scope: purchase.","responses":{"204":{"descri\#
    ption":"It is finished; also if it was finished before."},"400":{"$ref":"#/components/respo\#
    nses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/com\#
    ponents/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref\#
    ":"#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict\#
    "},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/T\#
    argetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/compone\#
    nts/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref"\#
    :"#/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/approve":{"parameter\#
    s":[{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId":"approvePurchase"\#
    ,"tags":["purchases"],"summary":"Approve a deferred or interrupted purchase","description":\#
    "Scope: admin.","responses":{"200":{"description":"The purchase after the change; also if i\#
    t was changed like this before.","content":{"application/json":{"schema":{"$ref":"#/compone\#
    nts/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":\#
    "#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"4\#
    04":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/components/responses/Method\#
    NotAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/components/r\#
    esponses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/\#
    components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$\#
    ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavail\#
    able"}}}},"/v1/purchases/{transaction}/decline":{"parameters":[{"$ref":"#/components/parame\#
    ters/Transaction"}],"post":{"operationId":"declinePurchase","tags":["purchases"],"summary":\#
    "Decline a deferred purchase","description":"Scope: admin.","requestBody":{"required":false\#
    ,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Change"}}}},"respons\#
    es":{"200":{"description":"The purchase after the change; also if it was changed like this \#
    before.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}\#
    },"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/\#
    Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/component\#
    s/responses/NotFound"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"409":{"$re\#
    f":"#/components/responses/Conflict"},"413":{"$ref":"#/components/responses/TooLarge"},"414\#
    ":{"$ref":"#/components/responses/TargetTooLong"},"415":{"$ref":"#/components/responses/Uns\#
    upportedType"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/compone\#
    nts/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref"\#
    :"#/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/refund":{"parameters\#
    ":[{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId":"refundPurchase","\#
    tags":["purchases"],"summary":"Record that the price was paid back","description":"Scope: a\#
    dmin.","requestBody":{"required":false,"content":{"application/json":{"schema":{"$ref":"#/c\#
    omponents/schemas/Change"}}}},"responses":{"200":{"description":"The purchase after the cha\#
    nge; also if it was changed like this before.","content":{"application/json":{"schema":{"$r\#
    ef":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},\#
    "401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/\#
    Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/components/re\#
    sponses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"\#
    #/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"41\#
    5":{"$ref":"#/components/responses/UnsupportedType"},"431":{"$ref":"#/components/responses/\#
    HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/re\#
    sponses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purcha\#
    ses/{transaction}/revoke":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"p\#
    ost":{"operationId":"revokePurchase","tags":["purchases"],"summary":"Take the product back"\#
    ,"description":"Scope: admin.","requestBody":{"required":false,"content":{"application/json\#
    ":{"schema":{"$ref":"#/components/schemas/Change"}}}},"responses":{"200":{"description":"Th\#
    e purchase after the change; also if it was changed like this before.","content":{"applicat\#
    ion/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components\#
    /responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":\#
    "#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":\#
    {"$ref":"#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Co\#
    nflict"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/respo\#
    nses/TargetTooLong"},"415":{"$ref":"#/components/responses/UnsupportedType"},"431":{"$ref":\#
    "#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":\#
    {"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unav\#
    ailable"}}}},"/v1/purchases/{transaction}/reverse":{"parameters":[{"$ref":"#/components/par\#
    ameters/Transaction"}],"post":{"operationId":"reversePurchase","tags":["purchases"],"summar\#
    y":"Undo a refund or a revocation","description":"Scope: admin.","responses":{"200":{"descr\#
    iption":"The purchase after the change; also if it was changed like this before.","content"\#
    :{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#\#
    /components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"40\#
    3":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFou\#
    nd"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/components/r\#
    esponses/Conflict"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/compo\#
    nents/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{\#
    "$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemente\#
    d"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/accounts/{account}/entitlem\#
    ents":{"parameters":[{"$ref":"#/components/parameters/Account"}],"get":{"operationId":"list\#
    Entitlements","tags":["accounts"],"summary":"List what an account can restore","description\#
    ":"Every restorable purchase in the state purchased, finished or not. Scope: read or purcha\#
    se.","parameters":[{"name":"since","in":"query","description":"The `revision` of the previo\#
    us page.","schema":{"type":"integer","format":"int64","minimum":0,"maximum":922337203685477\#
    5807,"default":0}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"max\#
    imum":1000,"default":1000}},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"2\#
    00":{"description":"A page in the order of the last changes.","headers":{"ETag":{"$ref":"#/\#
    components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/components/sc\#
    hemas/Purchases"}}}},"304":{"description":"The page is the same as that of If-None-Match.",\#
    "headers":{"ETag":{"$ref":"#/components/headers/ETag"}}},"400":{"$ref":"#/components/respon\#
    ses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/comp\#
    onents/responses/Forbidden"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413"\#
    :{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetToo\#
    Long"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/resp\#
    onses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/comp\#
    onents/responses/Unavailable"}}}},"/v1/accounts/{account}/history":{"parameters":[{"$ref":"\#
    #/components/parameters/Account"}],"get":{"operationId":"listHistory","tags":["accounts"],"\#
    summary":"List all purchases of an account","description":"Also consumables, and purchases \#
    in other states. Scope: read or purchase.","parameters":[{"name":"since","in":"query","desc\#
    ription":"The `revision` of the previous page.","schema":{"type":"integer","format":"int64"\#
    ,"minimum":0,"maximum":9223372036854775807,"default":0}},{"name":"limit","in":"query","sche\#
    ma":{"type":"integer","minimum":1,"maximum":1000,"default":1000}},{"$ref":"#/components/par\#
    ameters/IfNoneMatch"}],"responses":{"200":{"description":"A page in the order of the last c\#
    hanges.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"application/js\#
    on":{"schema":{"$ref":"#/components/schemas/Purchases"}}}},"304":{"description":"The page i\#
    s the same as that of If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/ETag"\#
    }}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/response\#
    s/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#/compone\#
    nts/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$\#
    ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooL\#
    ong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/\#
    NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/accounts/{acco\#
    unt}/erase":{"parameters":[{"$ref":"#/components/parameters/Account"}],"post":{"operationId\#
    ":"eraseAccount","tags":["accounts"],"summary":"Replace the name of an account by a random \#
    one","description":"Scope: admin.","responses":{"204":{"description":"No purchase has the n\#
    ame any more."},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/compone\#
    nts/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref\#
    ":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge\#
    "},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/respon\#
    ses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/component\#
    s/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/ev\#
    ents":{"get":{"operationId":"listEvents","tags":["events"],"summary":"Wait for events","des\#
    cription":"With `Accept: text/event-stream`, the response is a stream. 410: the cursor is o\#
    lder than 30 days, or of another ledger, such as before a restore. Read the entitlements th\#
    en. Scope: read or purchase.","parameters":[{"name":"after","in":"query","description":"The\#
     cursor of the last event; without it, only new events.","schema":{"$ref":"#/components/sch\#
    emas/Cursor"}},{"name":"wait","in":"query","description":"Seconds to wait for the first eve\#
    nt.","schema":{"type":"integer","minimum":0,"maximum":30,"default":0}},{"name":"limit","in"\#
    :"query","schema":{"type":"integer","minimum":1,"maximum":200,"default":200}},{"name":"Last\#
    -Event-ID","in":"header","description":"Like `after`, for a stream that continues; ignored \#
    for a response in JSON.","schema":{"type":"string"}}],"responses":{"200":{"description":"Ev\#
    ents, or none after `wait`. A stream sends each event with its cursor as id, its kind as ev\#
    ent and its JSON a
    """#
}
